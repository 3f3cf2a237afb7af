// One task: the distribution of its times, failures, the best and a typical program.

/** Every program's time: a histogram on a log scale, each time as a stroke below it. */
function timesChart(costs, task) {
  const width = 1160, left = 20, right = width - 20, top = 26, bottom = 170, bins = 64;
  const [low, high] = [costs[0], costs.at(-1)].map(Math.log10), span = high - low;
  const x = scale(low - span * 0.02, high + span * 0.02, left, right);
  const counts = new Array(bins).fill(0), step = (x(high) - x(low)) / bins;
  for (const cost of costs) counts[Math.min(bins - 1, Math.floor((Math.log10(cost) - low) / span * bins))]++;
  const y = scale(0, Math.max(...counts), bottom, top + 4);
  return draw("svg", {viewBox: `0 0 ${width} ${bottom + 44}`, role: "img", id: "times-chart",
    "aria-label": "The times of all programs"},
  axisX(x, decades(low, high), top, bottom, "time per call (log scale)", at => seconds(10 ** at)),
  ...counts.flatMap((count, k) => count ? [draw("rect", {class: "times", x: (x(low) + k * step).toFixed(1),
    width: (step - 1).toFixed(1), y: (y(count) - 1).toFixed(1), height: (bottom - y(count) + 1).toFixed(1),
    fill: "var(--c0)", "fill-opacity": 0.65})] : []),
  ...costs.map(cost => draw("line", {class: "tick", x1: x(Math.log10(cost)).toFixed(1),
    x2: x(Math.log10(cost)).toFixed(1), y1: bottom + 1, y2: bottom + 5})),
  ...marks(task, x, top, bottom));
}

/** Best, median and worst; a median that is near an end shares its line of text. */
function marks(task, x, top, bottom) {
  const costs = [TASKS.best[task], TASKS.median[task], TASKS.worst[task]];
  const places = costs.map(cost => x(Math.log10(cost)));
  const texts = ["best", "median", "worst"].map((name, k) => `${name} ${seconds(costs[k])}`);
  if (places[1] - places[0] < 160) texts[0] += `, ${texts.splice(1, 1, "")[0]}`;
  else if (places[2] - places[1] < 160) texts[2] = `${texts.splice(1, 1, "")[0]}, ${texts[2]}`;
  return places.flatMap((at, k) => [
    draw("line", {x1: at, x2: at, y1: top - 4, y2: bottom, stroke: k === 1 ? "var(--c1)" : "var(--faint)",
      "stroke-width": k === 1 ? 2 : 1.2}),
    draw("text", {x: at, y: top - 10, "text-anchor": ["start", "middle", "end"][k]}, texts[k])]);
}

/** Round times between two, as log10: 1, 2 and 5 of each decade, or round numbers where it is one. */
function decades(low, high) {
  if (high - low < 0.7) return ticks(10 ** low, 10 ** high, 5).filter(v => v > 0).map(Math.log10);
  const found = [], few = high - low > 2.5;
  for (let power = Math.floor(low); power <= high; power++) {
    for (const digit of few ? [1] : [1, 2, 5]) {
      const at = power + Math.log10(digit);
      if (at >= low && at <= high) found.push(at);
    }
  }
  return found;
}

/** Code with a heading; its lines are as long as they are. */
const codeBlock = text => make("pre", {class: "code"}, text);

function programPart(program, flops) {
  const said = [seconds(program.cost), rate(flops, program.cost)].filter(Boolean).join(", ");
  const times = program.costs.length > 1
    ? `${program.costs.length} repeats: ${program.costs.map(seconds).join(", ")}` : "";
  const parts = [make("h2", {}, `${program.name === "best" ? "Best" : "Typical"} program: ${said}`)];
  if (times) parts.push(make("p", {class: "note"}, times));
  if (program.code && program.steps) {
    parts.push(make("details", {class: "decisions"}, make("summary", {}, "Its decisions"),
      codeBlock(program.steps)));
  }
  const shown = program.code || program.steps;
  parts.push(shown ? codeBlock(shown) : make("p", {}, "Its schedule was not kept."));
  return make("section", {class: "program"}, ...parts);
}

function failureTable(failures) {
  const names = ["stage", "symptom", "programs", "such as"];
  return make("div", {class: "wide"}, make("table", {class: "failing"},
    make("thead", {}, make("tr", {}, ...names.map(name => make("th", {scope: "col"}, name)))),
    make("tbody", {}, ...failures.map(one => make("tr", {}, ...[one.stage, one.symptom.replaceAll("_", " "),
      one.count.toLocaleString(), one.message].map((cell, k) =>
      make("td", {"data-name": names[k]}, cell)))))));
}

function taskFacts(task, detail) {
  const cost = TASKS.best[task], graph = detail ? DATA.graphs.id.indexOf(detail.graph) : -1;
  return facts([
    ["best", [seconds(cost), rate(TASKS.flops[task], cost)].filter(Boolean).join(", ") || "no program ran"],
    ["median, worst", known(cost) ? `${seconds(TASKS.median[task])}, ${seconds(TASKS.worst[task])}` : ""],
    ["programs", `${TASKS.programs[task].toLocaleString()}, of which ${TASKS.failed[task].toLocaleString()} failed`],
    ["noise", known(detail?.noise) ? `${(100 * detail.noise).toPrecision(2)} % between the repeats of a program `
      + `(median; up to ${detail.repeats} repeats)` : ""],
    ["operations", operations(TASKS.flops[task])],
    ["networks", detail ? detail.networks.map(([name, weight]) => `${name} (${weight}×)`).join(", ")
      : TASKS.networks[task]],
    ["subgraphs of this structure", detail?.subgraphs],
    ["measured as a graph", graph < 0 ? null : linkTo(graph)],
    ["structure", detail?.structure], ["workload", detail?.workload],
    ["space", TASKS.format[task]], ["device", TASKS.device[task]], ["target", detail?.target]]);
}

/** Fills the view of a task; what was asked for later wins. */
async function showTask(id) {
  const mine = ++asked, home = section("view"), task = TASKS ? TASKS.task.indexOf(id) : -1;
  const back = make("p", {}, make("a", {href: DATA.back ?? (TASKS ? "#programs" : "#graphs")}, "← all tasks"));
  if (task < 0) {
    home.replaceChildren(back, make("h1", {}, "No such task"), make("p", {}, id));
    return;
  }
  const detail = task < TASKS.detailed ? await unpack("tasks", task) : null;
  if (mine !== asked) return;
  const parts = [back, make("h1", {}, TASKS.name[task]), make("p", {class: "note"}, id)];
  if (detail && detail.costs[0] < detail.costs.at(-1)) parts.push(make("div", {class: "drawn"}, timesChart(detail.costs, task)));
  else if (!detail && TASKS.heights[task]) parts.push(small(task));
  if (detail && detail.costs.length < TASKS.programs[task] - TASKS.failed[task]) {
    parts.push(make("p", {class: "note"}, `Drawn are ${detail.costs.length} of `
      + `${(TASKS.programs[task] - TASKS.failed[task]).toLocaleString()} times, evenly chosen by rank.`));
  }
  parts.push(taskFacts(task, detail));
  if (detail?.failures.length) parts.push(make("h2", {}, "Failures"), failureTable(detail.failures));
  if (!detail) {
    parts.push(make("p", {}, `Code is on this page for ${counted(TASKS.detailed, "task")} only. `
      + `graph-net programs show ${id} has it.`));
  } else {
    if (detail.note) parts.push(make("p", {class: "warning"}, detail.note));
    parts.push(make("h2", {}, "What is computed"), codeBlock(detail.computation),
      ...detail.programs.map(program => programPart(program, TASKS.flops[task])));
  }
  home.replaceChildren(...parts);
}
