// Scales, axes and the box that follows the pointer.

/** A linear map from a domain to a range, and back. */
function scale(from, to, start, end) {
  const map = value => start + (value - from) / (to - from) * (end - start);
  map.back = place => from + (place - start) / (end - start) * (to - from);
  return map;
}

/** About `count` round numbers between two. */
function ticks(from, to, count = 6) {
  const rough = (to - from) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
  const found = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) found.push(k * step);
  return found;
}

const plain = value => String(Number(value.toPrecision(4))).replace("-", "−");

/** A horizontal axis with its grid; `at` are the values to mark. */
function axisX(x, at, top, bottom, title, text = plain) {
  const group = draw("g", {class: "axis"});
  for (const value of at) {
    group.append(draw("line", {class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom}),
      draw("text", {x: x(value), y: bottom + 16, "text-anchor": "middle"}, text(value)));
  }
  const middle = (x(at[0]) + x(at.at(-1))) / 2;
  group.append(draw("text", {x: middle, y: bottom + 34, "text-anchor": "middle"}, title));
  return group;
}

function axisY(y, at, left, right) {
  const group = draw("g", {class: "axis"});
  for (const value of at) {
    group.append(draw("line", {class: "grid", x1: left, x2: right, y1: y(value), y2: y(value)}),
      draw("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, plain(value)));
  }
  return group;
}

/** The speedups to mark on a logarithmic axis, as log2: powers of two, or round numbers near 1. */
function octaves(low, high) {
  if (high - low < 3) return ticks(2 ** low, 2 ** high, 7).filter(v => v > 0).map(Math.log2);
  const step = Math.max(1, Math.ceil((high - low) / 9)), found = [];
  for (let k = Math.ceil(low / step) * step; k <= high; k += step) found.push(k);
  return found;
}
const octaveText = k => Number.isInteger(k) && k < 0 ? `1/${2 ** -k}×` : `${plain(2 ** k)}×`;

/** Samples of lines with their names; beside a chart, whose colours they have. */
function legend(names, places) {
  return make("div", {class: "legend"}, ...places.map(n => make("span", {},
    draw("svg", {width: 26, height: 10, "aria-hidden": "true"}, draw("line", {
      x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour(n), "stroke-width": 2.5,
      "stroke-dasharray": dash(n)})), names[n])));
}

/** Puts a box of lines beside a place of a chart. */
function showTip(tip, chart, x, lines) {
  tip.replaceChildren(...lines.map(line => make("div", {}, ...[line].flat())));
  tip.hidden = false;
  const left = x + tip.offsetWidth + 24 > chart.clientWidth ? x - tip.offsetWidth - 12 : x + 12;
  tip.style.left = `${Math.max(0, left)}px`;
  tip.style.top = "12px";
}
