// The tasks whose programs were measured: a table with a small picture of each one's times.

const TASKS = DATA.programs ?? null;
const PICTURE = {width: 160, height: 22};

const SEVERAL_DEVICES = new Set(TASKS?.device).size > 1;

const taskLink = task => make("a",
  {href: (DATA.task_links ?? "#task=") + encodeURIComponent(TASKS.task[task])},
  TASKS.name[task]);
const ratio = (task, name) => known(TASKS.best[task]) ? TASKS[name][task] / TASKS.best[task] : null;
const operations = value => {
  if (!known(value)) return "";
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(value) / 3)));
  return `${(value / 1000 ** power).toPrecision(3)}${["", " k", " M", " G", " T"][power]}`;
};
const rate = (flops, cost) => known(flops) && known(cost) ? `${operations(flops / cost)}FLOP/s` : "";

const TASK_COLUMNS = TASKS ? [
  {name: "task", value: task => TASKS.name[task], cell: taskLink},
  {name: "times", value: task => ratio(task, "median"), cell: small, word: true},
  {name: "networks", value: task => TASKS.networks[task], word: true},
  {name: "device", value: task => SEVERAL_DEVICES ? TASKS.device[task] : "", word: true},
  {name: "weight", value: task => TASKS.weight[task], down: true},
  {name: "FLOPs", value: task => TASKS.flops[task], text: task => operations(TASKS.flops[task]), down: true},
  {name: "programs", value: task => TASKS.programs[task],
    text: task => TASKS.programs[task].toLocaleString(), down: true},
  {name: "failed", value: task => TASKS.failed[task] || null, down: true,
    text: task => TASKS.failed[task] ? TASKS.failed[task].toLocaleString() : ""},
  {name: "best", value: task => TASKS.best[task], text: task => seconds(TASKS.best[task])},
  {name: "median", value: task => ratio(task, "median"), down: true,
    text: task => known(ratio(task, "median")) ? `${ratio(task, "median").toPrecision(3)}×` : ""},
  {name: "worst", value: task => ratio(task, "worst"), down: true,
    text: task => known(ratio(task, "worst")) ? `${ratio(task, "worst").toPrecision(3)}×` : ""},
  {name: "total", value: inAll, text: task => seconds(inAll(task)), down: true},
].filter(column => [...TASKS.task.keys()].some(task => known(column.value(task)) && column.value(task) !== ""))
  : [];

/** What all calls in all networks take, with the best program. */
function inAll(task) {
  return known(TASKS.best[task]) && known(TASKS.weight[task]) ? TASKS.weight[task] * TASKS.best[task] : null;
}

/** The times of a task on the axis that all tasks share, from its best to 64 times as long. */
function small(task) {
  const heights = [...TASKS.heights[task]].map(digit => parseInt(digit, 36));
  const {width, height} = PICTURE, step = width / (heights.length || 1);
  const middle = Math.min(1, Math.log2(ratio(task, "median") ?? 1) / TASKS.octaves) * width;
  return draw("svg", {class: "small", width, height, role: "img", viewBox: `0 0 ${width} ${height}`,
    "aria-label": heights.length ? `median ${ratio(task, "median").toPrecision(3)} times the best`
      : "no program ran"},
  draw("line", {class: "grid", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5}),
  ...heights.flatMap((h, k) => h ? [draw("rect", {x: (k * step).toFixed(1), width: (step - 0.6).toFixed(1),
    y: (height - 1 - h / 35 * (height - 3)).toFixed(1), height: (h / 35 * (height - 3)).toFixed(1),
    fill: "var(--c0)", "fill-opacity": 0.7})] : []),
  heights.length ? draw("line", {x1: middle, x2: middle, y1: 0, y2: height, stroke: "var(--c1)",
    "stroke-width": 1.5}) : null);
}

function taskTable() {
  const count = TASKS.task.length, named = name => TASK_COLUMNS.find(column => column.name === name);
  const search = make("input", {type: "search", id: "task-search", placeholder: "kernel, network or device",
    "aria-label": "Filter tasks", oninput: () => shown.refresh()});
  const texts = TASKS.task.map((id, task) =>
    `${TASKS.name[task]} ${TASKS.networks[task]} ${TASKS.device[task]} ${TASKS.format[task]} ${id}`.toLowerCase());
  const first = named("total") ?? named("best") ?? TASK_COLUMNS[0];
  const shown = sortedTable(TASK_COLUMNS, {column: first, down: first !== TASK_COLUMNS[0]}, {
    id: "task-table", noun: "task", total: count, choose: () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      return [...TASKS.task.keys()].filter(task => words.every(word => texts[task].includes(word)));
    }});
  shown.count.id = "tasks-found";
  section("programs").append(make("p", {class: "note"}, explained(count, Boolean(named("total")))),
    make("div", {class: "controls"}, search, shown.count), shown.element, shown.more);
  shown.refresh();
}

function explained(count, weighed) {
  const said = [`Times: from the best program of a task to ${2 ** TASKS.octaves} times as long, log scale; slower `
    + "ones are in the last bar, the stroke is the median. Median and worst are multiples of the best."];
  if (weighed) said.push("Weight: calls in all networks; total: weight × best.");
  if (count > TASKS.detailed && !DATA.task_links) {
    said.push(`Code is here for the ${counted(TASKS.detailed, "task")} that take most of the networks' time; `
      + "graph-net programs show has the others.");
  }
  return said.join(" ");
}
