// One graph: its measurements with raw samples, its outputs, its operators, its drawing.

const ARM_NAMES = ["eager", "control (eager again)", "candidate"];

/** Every sample as a point: seconds across, the order in which they were taken downwards. */
function strip(arms, kind) {
  const width = 720, left = 130, right = width - 20, lane = 46, top = 6;
  const all = ascending(arms.flat()), low = all[0];
  // Of many samples a few that were disturbed must not squeeze the rest: they stand at the end.
  const high = all.length < 40 ? all.at(-1) * 1.02 : Math.max(quantile(all, 0.97) * 1.05, low * 1.02);
  const x = scale(low * 0.99, high, left, right);
  const bottom = top + lane * arms.length;
  const text = value => seconds(value * 1e-6);
  const svg = draw("svg", {viewBox: `0 0 ${width} ${bottom + 42}`, role: "img", class: "strip",
    "aria-label": `Raw ${kind} samples of eager, the control and the candidate`},
  axisX(x, ticks(low * 0.99, high, 5), top, bottom, `${kind} time per call`, text));
  arms.forEach((values, n) => {
    const y = top + lane * n, middle = quantile(ascending(values), 0.5), number = [0, 5, 1][n];
    svg.append(draw("text", {x: 0, y: y + lane / 2 + 4}, ARM_NAMES[n]));
    let beyond = 0;
    values.forEach((value, k) => {
      const down = y + 5 + (lane - 12) * (k + 0.5) / values.length;
      if (value > high) beyond++;
      svg.append(value > high
        ? draw("path", {d: `M${right},${down - 3}l6,3l-6,3Z`, fill: colour(number)})
        : draw("circle", {class: "sample", cx: x(value).toFixed(1), cy: down.toFixed(1), r: 2.4,
          fill: colour(number), "fill-opacity": 0.65}));
    });
    svg.append(draw("line", {x1: x(Math.min(middle, high)), x2: x(Math.min(middle, high)), y1: y + 2,
      y2: y + lane - 4, stroke: "var(--ink)", "stroke-width": 1.5},
    draw("title", {}, `median ${text(middle)}, ${values.length} samples, ${beyond} beyond the axis`)));
  });
  return svg;
}

/** The speedup's interval beside the noise floor. */
function intervals(row) {
  const values = name => ["_low", "", "_high"].map(end => ROWS[name + end][row]);
  const [noise, speedup] = [values("noise"), values("speedup")];
  const logs = [...noise, ...speedup, 1].map(Math.log2);
  const pad = Math.max(0.05, (Math.max(...logs) - Math.min(...logs)) * 0.1);
  const width = 720, left = 130, right = width - 20;
  const x = scale(Math.min(...logs) - pad, Math.max(...logs) + pad, left, right);
  const at = value => x(Math.log2(value));
  const line = (name, [low, value, high], y, number) => draw("g", {},
    draw("text", {x: 0, y: y + 4}, name),
    draw("line", {x1: at(low), x2: Math.max(at(high), at(low) + 1), y1: y, y2: y,
      stroke: colour(number), "stroke-width": 4}),
    draw("circle", {cx: at(value), cy: y, r: 5, fill: colour(number)},
      draw("title", {}, `${short(value)} (${short(low)} … ${short(high)})`)));
  const ends = [left, right].map(place => 2 ** x.back(place));
  const marks = ticks(...ends, 6).filter(value => value > 0);
  return draw("svg", {viewBox: `0 0 ${width} 98`, role: "img", "aria-label": "Intervals"},
    draw("rect", {class: "zone", x: at(noise[0]), width: Math.max(1, at(noise[2]) - at(noise[0])),
      y: 0, height: 58}),
    axisX(at, marks, 0, 58, "times as fast as eager", value => `${plain(value)}×`),
    draw("line", {class: "one", x1: at(1), x2: at(1), y1: 0, y2: 58}),
    line("control (eager again)", noise, 16, 5), line("candidate", speedup, 42, 1));
}

function facts(pairs) {
  return make("table", {class: "facts"}, make("tbody", {}, ...pairs.filter(([, value]) => value)
    .map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", {}, value)))));
}

function rangeText(row, name) {
  const [low, value, high] = ["_low", "", "_high"].map(end => ROWS[name + end][row]);
  return known(value) ? `${value.toPrecision(4)}× (${low.toPrecision(4)} … ${high.toPrecision(4)})` : "";
}

/** The measurement of a graph under one compiler. */
function measurement(row, detail) {
  const head = make("h2", {}, make("span", {class: `key c${ROWS.compiler[row] % 7}`}),
    `${DATA.compilers[ROWS.compiler[row]]}: ${outcomeText(row)}`);
  const {cost, environment} = detail;
  const parts = [head];
  if (detail.message) parts.push(make("pre", {}, detail.message));
  if (detail.reason) parts.push(make("p", {class: "note"}, detail.reason));
  if (detail.floor?.reason) parts.push(make("p", {class: ROWS.impossible[row] ? "warning" : "note"},
    `${ROWS.impossible[row] ? "Impossible: " : ""}${detail.floor.reason}.`));
  const drawn = svg => parts.push(make("div", {class: "drawn"}, svg));
  if (known(ROWS.speedup[row])) drawn(intervals(row));
  if (detail.wall) drawn(strip(detail.wall, "wall"));
  if (detail.device) drawn(strip(detail.device, "device"));
  const others = Object.entries(environment).map(([key, value]) => [key.replaceAll("_", " "),
    typeof value === "object" ? JSON.stringify(value, (_, inner) => short(inner)) : String(short(value))]);
  parts.push(facts([
    ["speedup", rangeText(row, "speedup")],
    ["on the device", detail.device_speedup ? `${short(detail.device_speedup[0])}× `
      + `(${short(detail.device_speedup[1])} … ${short(detail.device_speedup[2])})` : ""],
    ["noise: eager / eager", rangeText(row, "noise")],
    ["samples an arm", detail.wall ? `${detail.wall[0].length}, of ${detail.inner.join(", ")} calls` : ""],
    ["passes from t =", level(ROWS.t[row])],
    ["compile, cold and warm", [seconds(cost.cold_seconds), seconds(cost.warm_seconds)].filter(Boolean).join(", ")],
    ["processor time to compile", seconds(cost.cpu_seconds)],
    ["memory: candidate, eager, compiling", ["candidate", "eager", "compile"]
      .map(name => gibi(cost[`${name}_peak_bytes`]) || "–").join(", ")],
    ["floor of the machine", known(ROWS.floor[row]) ? `${seconds(ROWS.floor[row])}, by ${detail.floor.bound}; `
      + `${known(ROWS.headroom[row]) ? `${headroomText(row)} of it taken` : headroomText(row)}` : ""],
    ["started", detail.started], ...others]));
  if (detail.outputs.length) parts.push(outputs(detail.outputs));
  return make("section", {class: "measurement"}, ...parts);
}

function outputs(rows) {
  const names = ["output", "t against eager", "largest difference", "t against float64", "eager's own"];
  const cells = ([dtype, shape, t, most, exact, eager]) => [`${dtype}[${shape.join(", ")}]`, level(t) || "none",
    known(most) ? most.toPrecision(3) : "", level(exact), level(eager)];
  return make("details", {}, make("summary", {}, counted(rows.length, "output")),
    make("div", {class: "wide"}, make("table", {},
      make("thead", {}, make("tr", {}, ...names.map(name => make("th", {scope: "col"}, name)))),
      make("tbody", {}, ...rows.map(row => make("tr", {}, ...cells(row).map((c, k) => make("td", {"data-name": names[k]}, c))))))));
}

function operatorTable(drawing) {
  const counts = new Map();
  for (const op of drawing.op) counts.set(op, (counts.get(op) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]), most = sorted[0]?.[1] ?? 1;
  const rows = sorted.map(([op, n]) => {
    const bar = make("span", {class: "bar"});
    bar.style.width = `${4 * n / most}rem`;
    return make("tr", {}, make("td", {}, make("code", {}, drawing.names[op])),
      make("td", {}, n.toLocaleString()), make("td", {}, bar));
  });
  return make("div", {class: "operators"}, make("table", {id: "operators"}, make("tbody", {}, ...rows)));
}

let asked = 0;

/** Fills the view of a graph; what was asked for later wins. */
async function showGraph(id) {
  const mine = ++asked, home = section("view"), graph = DATA.graphs.id.indexOf(id);
  const back = make("p", {}, make("a", {href: "#graphs"}, "← all graphs"));
  if (graph < 0) {
    home.replaceChildren(back, make("h1", {}, "No such graph"), make("p", {}, id));
    return;
  }
  const rows = [...Array(COUNT).keys()].filter(row => ROWS.graph[row] === graph);
  const details = await Promise.all(rows.map(row => unpack("details", row)));
  const number = DATA.graphs.drawing[graph];
  const drawing = number < 0 ? null : await unpack("drawings", number);
  if (mine !== asked) return;
  const about = ["library", "model", "category"].map(name => DATA.graphs[name][graph]).filter(Boolean);
  const side = drawing ? make("aside", {}, make("h2", {}, "Operators"), operatorTable(drawing))
    : make("aside", {}, make("p", {class: "note"},
      "No pack at hand held this graph, so there is no drawing; give one with --corpus."));
  home.replaceChildren(back, make("h1", {}, DATA.graphs.name[graph]),
    make("p", {class: "note"}, [...about, id].join(" · ")),
    make("div", {class: "columns"},
      make("div", {}, ...rows.map((row, k) => measurement(row, details[k]))), side));
  if (drawing) {
    const made = drawingOf(drawing);
    home.append(make("h2", {}, "Drawing"), made.element, make("p", {class: "note"},
      "Repeated blocks are folded: click one to open a run of it. Drag to move, wheel to scale. "
      + "Filled: products, convolutions, look-ups; dashed: shape changes; thick: results."));
    made.paint();
  }
}
