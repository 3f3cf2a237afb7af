// Small helpers of every page. Texts reach the page through textContent alone, never as markup.

const DASHES = ["", "7 3", "2 2.5", "9 3 2 3", "12 3", "4 2", "1 3"];

/** An element with attributes and children; a string becomes text. */
function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same in SVG. */
function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const section = name => document.getElementById(name);
const colour = number => `var(--c${number % 7})`;
const dash = number => DASHES[(number + Math.floor(number / 7)) % DASHES.length];

function quantile(sorted, share) {
  const place = (sorted.length - 1) * share, low = Math.floor(place);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

const ascending = values => Float64Array.from(values).sort();
const known = value => value !== null && value !== undefined;

// Numbers for people; an empty text where there is none.
const counted = (number, noun, many = `${noun}s`) => `${number.toLocaleString()} ${number === 1 ? noun : many}`;
const short = value => typeof value !== "number" ? value : Number.isInteger(value) ? value
  : Math.abs(value) < 1e-3 ? value.toExponential(2) : Number(value.toPrecision(4));
const times = value => known(value) ? `${value.toPrecision(value >= 0.1 && value < 1 ? 3 : 4)}×` : "";
const level = t => !known(t) ? "" : t <= -64 ? "equal" : t.toFixed(2);
const gibi = bytes => !known(bytes) ? "" : bytes >= 2 ** 30
  ? `${(bytes / 2 ** 30).toFixed(2)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function seconds(value) {
  if (!known(value)) return "";
  if (value >= 1) return `${value.toPrecision(3)} s`;
  return value >= 1e-3 ? `${(value * 1e3).toPrecision(3)} ms` : `${(value * 1e6).toPrecision(3)} µs`;
}

const clipped = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** A name that may be broken where its parts end: computer_|vision, inductor|[mode=default]. */
const breakable = text => String(text).split(/(?<=[_/,@])|(?=\[)/).flatMap((part, k) => k ? [make("wbr"), part] : [part]);

/** A control with its label before it. */
const labelled = (text, ...parts) => make("label", {}, `${text} `, ...parts);

/** A choice; `all`, where given, is the first and has an empty value. */
function choice(texts, changed, all) {
  const options = texts.map(text => make("option", {value: text}, text || "(none)"));
  if (all) options.unshift(make("option", {value: ""}, all));
  return make("select", {onchange: changed}, ...options);
}
