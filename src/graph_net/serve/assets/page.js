// Every page: commands copied with a click, keys, and a run that goes on.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

document.addEventListener("click", async event => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// Keys: one letter opens a place, as long as nobody is writing.
const PLACES = {o: "/", g: "/graphs", r: "/runs", e: "/records", t: "/tasks", m: "/models", s: "/sql"};
const KEYS = [["o g r e t m s", "overview, graphs, runs, records, tasks, models, SQL"],
  ["/", "search or ask"], ["n p", "next and previous page of a table"],
  ["j k", "next and previous row; Enter opens it"], ["c", "copy the first command"],
  ["Tab, Enter", "in a drawing: go from box to box, open or fold a block"], ["?", "these keys"]];

const help = element("dialog", {id: "help"}, element("h2", {}, "Keys"), element("table", {class: "facts"},
  element("tbody", {}, ...KEYS.map(([key, text]) => element("tr", {},
    element("td", {}, ...key.split(" ").flatMap(k => [element("kbd", {}, k), " "])), element("td", {}, text))))),
element("form", {method: "dialog"}, element("button", {class: "plain"}, "Close")));
document.body.append(help);
document.getElementById("keys").addEventListener("click", () => help.showModal());

function step(by) {
  const links = [...document.querySelectorAll("main tbody tr")].map(row => row.querySelector("a")).filter(Boolean);
  const now = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, now + by))]?.focus();
}

const ACTIONS = {
  "?": () => help.showModal(),
  "/": () => document.querySelector("main input[type=search], #sql")?.focus(),
  n: () => document.querySelector("a[rel=next]")?.click(),
  p: () => document.querySelector("a[rel=prev]")?.click(),
  j: () => step(1), k: () => step(-1),
  c: () => document.querySelector("button.copy")?.click(),
};
document.addEventListener("keydown", event => {
  const writing = event.target.closest("input, textarea, select, dialog");
  if (event.key === "Enter" && event.ctrlKey && event.target.id === "sql") event.target.form.requestSubmit();
  if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = ACTIONS[event.key] ?? (PLACES[event.key] ? () => { location.href = PLACES[event.key]; } : null);
  if (!action) return;
  event.preventDefault();
  action();
});

// A run that goes on is asked about again and again; one that does not is asked about seldom.
const live = document.getElementById("live");

function tableOf(names, rows) {
  return element("div", {class: "wide"}, element("table", {},
    element("thead", {}, element("tr", {}, ...names.map(name => element("th", {scope: "col"}, name)))),
    element("tbody", {}, ...rows.map(cells => element("tr", {}, ...cells.map((cell, k) =>
      element("td", {"data-name": names[k]}, cell)))))));
}

function paintLive(state) {
  live.hidden = !state.measured && !state.running;
  live.dataset.measured = state.measured;
  const link = one => element("a", {href: `/graph?id=${encodeURIComponent(one.id)}`}, one.graph);
  live.replaceChildren(
    element("h2", {}, state.running ? "Running " : "Not yet stored as a part",
      state.running ? element("span", {class: "pulse", "aria-hidden": "true"}) : ""),
    element("p", {role: "status"}, `${state.measured.toLocaleString()} measured in its journals so far.`),
    tableOf(["compiler", "result", "measurements"], state.counts.map(([a, b, n]) => [a, b, n.toLocaleString()])),
    element("h3", {}, "The latest"),
    tableOf(["graph", "compiler", "result", "speedup", "message"], state.latest.map(one => [link(one),
      one.compiler, one.result, one.speedup === null ? "" : `${one.speedup}×`, one.message])));
}

async function watch(last) {
  let state = null;
  try {
    const answer = await fetch(`/live.json?run=${encodeURIComponent(live.dataset.run)}`);
    state = answer.ok ? await answer.json() : null;
  } catch { /* the server has ended: ask again later */ }
  if (state && JSON.stringify(state) !== last) paintLive(state);
  if (state && last && JSON.parse(last).measured && !state.measured) location.reload(); // it is a part now
  const pause = document.hidden ? 10000 : state?.running ? 1500 : 5000;
  setTimeout(watch, pause, state ? JSON.stringify(state) : last);
}
if (live) watch("");
document.body.dataset.page = "ready";
