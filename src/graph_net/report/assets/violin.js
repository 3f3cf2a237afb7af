// Speedups of correct results by category: a violin, or the points themselves where they are few.

const FEW = 12;

/** Density of sorted values at `steps` places between two, by a Gaussian kernel (Silverman). */
function density(values, low, high, steps) {
  const mean = values.reduce((a, v) => a + v, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((a, v) => a + (v - mean) ** 2, 0) / values.length);
  const spread = (quantile(values, 0.75) - quantile(values, 0.25)) / 1.34;
  const width = Math.max(0.9 * Math.min(deviation, spread || deviation) * values.length ** -0.2, 0.02);
  return Array.from({length: steps + 1}, (_, k) => {
    const place = low + (high - low) * k / steps;
    let sum = 0;
    for (const v of values) sum += Math.exp(-0.5 * ((place - v) / width) ** 2);
    return sum;
  });
}

function violins() {
  const groups = new Map(), all = [];
  for (let row = 0; row < COUNT; row++) {
    if (ROWS.fault[row] !== NONE || !known(ROWS.speedup[row]) || ROWS.t[row] > FROZEN_FROM) continue;
    const category = DATA.graphs.category[ROWS.graph[row]] || "no category";
    if (!groups.has(category)) groups.set(category, new Map());
    const lanes = groups.get(category), n = ROWS.compiler[row];
    if (!lanes.has(n)) lanes.set(n, []);
    lanes.get(n).push(row);
    all.push(Math.log2(ROWS.speedup[row]));
  }
  const home = section("speedups");
  if (!all.length) { home.append(make("p", {}, "Nothing was both correct and timed.")); return; }
  const sorted = ascending(all);
  // The axis holds 99 % of the values; what is beyond stands at its end, as a triangle.
  const low = Math.min(-0.5, quantile(sorted, 0.005)) - 0.1;
  const high = Math.max(0.5, quantile(sorted, 0.995)) + 0.1;
  const lane = 34, title = 24, width = 920, left = 200, right = width - 70;
  const x = scale(low, high, left, right);
  const parts = [];
  let y = 8;
  for (const category of [...groups.keys()].sort()) {
    parts.push(draw("text", {x: 0, y: y + 15, "font-weight": 600}, category));
    y += title;
    for (const [n, rows] of [...groups.get(category)].sort((a, b) => a[0] - b[0])) {
      parts.push(oneViolin(n, rows, x, y + lane / 2, lane, low, high, left, right));
      y += lane;
    }
    y += 6;
  }
  const svg = draw("svg", {viewBox: `0 0 ${width} ${y + 44}`, role: "img", id: "violin-chart",
    "aria-label": "Speedups by category and compiler"},
    axisX(x, octaves(low, high), 8, y, "speedup over eager", octaveText),
    draw("line", {class: "one", x1: x(0), x2: x(0), y1: 8, y2: y}), ...parts);
  home.append(make("div", {class: "drawn"}, svg), make("p", {class: "note"}, "Correct results only. The bar spans the quartiles, "
    + "the stroke is the median; fewer than twelve results are points. Triangles lie beyond the axis."));
}

function oneViolin(n, rows, x, middle, lane, low, high, left, right) {
  const values = ascending(rows.map(row => Math.log2(ROWS.speedup[row])));
  const group = draw("g", {class: "violin", "data-compiler": DATA.compilers[n]},
    draw("title", {}, `${DATA.compilers[n]}: median ${times(2 ** quantile(values, 0.5))}, `
      + counted(rows.length, "graph")),
    draw("text", {x: left - 8, y: middle + 4, "text-anchor": "end"}, clipped(DATA.compilers[n], 26)),
    draw("text", {class: "faint", x: right + 16, y: middle + 4}, `${rows.length.toLocaleString()}`));
  const half = lane * 0.42;
  const dots = rows.length < FEW ? rows : rows.filter(row => {
    const value = Math.log2(ROWS.speedup[row]);
    return value < low || value > high;
  });
  if (rows.length >= FEW) {
    const steps = 120, heights = density(values, low, high, steps), most = Math.max(...heights);
    const edge = sign => heights.map((h, k) =>
      `${x(low + (high - low) * k / steps).toFixed(1)},${(middle + sign * half * h / most).toFixed(1)}`);
    group.append(draw("path", {d: `M${edge(-1).join("L")}L${edge(1).reverse().join("L")}Z`,
      fill: colour(n), "fill-opacity": 0.35, stroke: colour(n)}));
    const clamp = value => x(Math.min(high, Math.max(low, value)));
    const [q1, q2, q3] = [0.25, 0.5, 0.75].map(share => clamp(quantile(values, share)));
    group.append(draw("rect", {x: q1, width: Math.max(1, q3 - q1), y: middle - 3, height: 6,
      fill: colour(n)}),
    draw("line", {x1: q2, x2: q2, y1: middle - 8, y2: middle + 8, stroke: "var(--ink)",
      "stroke-width": 2}));
  }
  dots.forEach((row, k) => group.append(dot(row, n, x, middle + (k % 3 - 1) * 5, low, high)));
  return group;
}

/** A result as a point that leads to its graph; a triangle at the end where it lies beyond. */
function dot(row, n, x, y, low, high) {
  const value = Math.log2(ROWS.speedup[row]), graph = ROWS.graph[row];
  const place = x(Math.min(high, Math.max(low, value)));
  const side = value < low ? -1 : value > high ? 1 : 0;
  const shape = side
    ? draw("path", {d: `M${place},${y - 4}l${side * 7},4l${-side * 7},4Z`, fill: colour(n)})
    : draw("circle", {cx: place, cy: y, r: 3.2, fill: colour(n), "fill-opacity": 0.75});
  return draw("a", {href: `#graph=${encodeURIComponent(DATA.graphs.id[graph])}`},
    draw("title", {}, `${DATA.graphs.name[graph]}: ${times(ROWS.speedup[row])}`), shape);
}
