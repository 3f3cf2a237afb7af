// A graph drawn: folded by repeated block, moved by dragging, scaled by the wheel.

const HEAVY = /conv|linear|matmul|\bmm\b|bmm|addmm|einsum|attention|embedding|lstm|gru/i;
const LIGHT = /view|reshape|permute|transpose|squeeze|expand|flatten|getitem|contiguous|size|slice|chunk|split|unbind|clone|dropout|detach|\bto\b|getattr/i;
const ALL_AT_ONCE = 6000;

const shortTarget = target => target.replace(/^(torch\.nn\.functional|torch\.ops\.aten|torch|aten|_operator|operator|builtins)\./, "")
  .replace(/\.default$/, "");

function drawingOf(drawing) {
  const open = new Map();
  const svg = draw("svg", {class: "drawing", id: "drawing", role: "img",
    "aria-label": "The graph; drag to move, wheel to scale, click a folded block to open it"});
  const info = make("span", {role: "status", id: "drawing-info"});
  let view = null, bounds = null;

  function paint(keep) {
    const {boxes, edges, wide} = layoutOf(drawing, open);
    const out = new Set(drawing.out);
    const lines = edges.map(([from, to]) => edge(boxes[from], boxes[to], wide));
    svg.replaceChildren(draw("g", {}, ...lines), draw("g", {}, ...boxes.map(box => boxOf(box, out))));
    const xs = boxes.map(box => box.x), ys = boxes.map(box => box.y);
    const [left, right] = [Math.min(...xs) - BOX_WIDTH, Math.max(...xs) + BOX_WIDTH];
    const [top, bottom] = [Math.min(...ys) - 20, Math.max(...ys) + BOX_HEIGHT + 20];
    bounds = {x: left, y: top, width: right - left, height: bottom - top};
    info.textContent = `${counted(drawing.op.length, "node")} in `
      + counted(boxes.length - drawing.inputs.length, "box", "boxes");
    if (!keep || !view) begin();
    look();
  }

  function boxOf(box, out) {
    const group = draw("g", {transform: `translate(${box.x.toFixed(1)},${box.y})`});
    let label, below, about, kind;
    if (box.input !== undefined) {
      const [name, spec] = drawing.inputs[box.input];
      [label, below, about, kind] = [name, spec, `input ${name}\n${spec}`, "given"];
    } else if (box.block !== undefined) {
      const size = box.period;
      label = box.times > 1 ? `${box.times} × ${size} nodes` : `${size} nodes`;
      below = box.again ? "the same again" : mostly(box.from, box.from + size);
      about = `Nodes ${box.from} to ${box.to - 1}: ${operatorCounts(box.from, box.from + size)}\nClick to open`;
      kind = "block";
      const unfold = () => { open.set(box.block, (open.get(box.block) ?? 0) + 1); paint(true); };
      group.addEventListener("click", () => { if (!moved) unfold(); });
      group.addEventListener("keydown", event => { if (event.key === "Enter") unfold(); });
      group.setAttribute("tabindex", 0);
      group.setAttribute("role", "button");
    } else {
      const target = drawing.targets[drawing.op[box.from]], spec = drawing.specs[drawing.spec[box.from]];
      [label, below] = [shortTarget(target), spec];
      about = `${box.from}: ${target}\n${spec}` + (drawing.weights[box.from]
        ? `\nreads ${drawing.weights[box.from]} parameters or buffers` : "");
      kind = HEAVY.test(target) ? "heavy" : LIGHT.test(target) ? "light" : "node";
    }
    let result = false;
    for (let node = box.from; node < box.to && !result; node++) result = out.has(node);
    group.setAttribute("class", result ? `${kind} result` : kind);
    group.append(draw("title", {}, about),
      draw("rect", {x: -BOX_WIDTH / 2, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 4}),
      draw("text", {y: 15}, clipped(label, 22)), draw("text", {class: "small", y: 29}, clipped(below, 27)));
    return group;
  }

  function edge(from, to, wide) {
    const [x1, y1, x2, y2] = [from.x, from.y + BOX_HEIGHT, to.x, to.y], span = to.layer - from.layer;
    if (from.column !== to.column) {
      // Up between the columns, just before the one it goes to.
      const gap = to.column * wide - BOX_WIDTH / 2 - 14 - (from.layer * 7) % 40;
      return draw("path", {class: span > 2 ? "far" : "turn",
        d: `M${x1},${y1}v9H${gap}V${y2 - 9}H${x2}V${y2}`});
    }
    if (span <= 1) {
      const bend = (y2 - y1) / 2;
      return draw("path", {d: `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`});
    }
    // Past the boxes in between, on the side where the target is.
    const side = Math.max(x1, x2) + BOX_WIDTH / 2 + 8 + Math.min(60, 5 * span);
    const run = Math.min(60, (y2 - y1) / 3);
    return draw("path", {class: span > 12 ? "far" : null, d: `M${x1},${y1}C${x1},${y1 + run / 2} `
      + `${side},${y1} ${side},${y1 + run}L${side},${y2 - run}C${side},${y2} ${x2},${y2 - run / 2} ${x2},${y2}`});
  }

  function operators(from, to) {
    const counts = new Map();
    for (let node = from; node < to; node++) {
      const name = shortTarget(drawing.targets[drawing.op[node]]);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]);
  }
  const operatorCounts = (from, to) => operators(from, to).map(([name, n]) => `${n} ${name}`).join(", ");
  const mostly = (from, to) => {
    const found = operators(from, to);
    return (found.find(([name]) => HEAVY.test(name)) ?? found[0])[0] + " …";
  };

  // Looking: `view` is what part is seen, in the drawing's own units.
  function look() {
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    svg.classList.toggle("tiny", view.width / (svg.clientWidth || 900) > 3.2);
  }
  const aspect = () => (svg.clientHeight || 600) / (svg.clientWidth || 900);
  /** The beginning of the graph, at a size that can be read. */
  function begin() {
    const needed = Math.max(bounds.width, bounds.height / aspect(), 700);
    if (needed <= 2300) { whole(); return; }
    view = {x: bounds.x, y: bounds.y, width: 1600, height: 1600 * aspect()};
  }
  function whole() {
    const width = Math.max(bounds.width, bounds.height / aspect(), 700);
    view = {x: bounds.x + (bounds.width - width) / 2, y: bounds.y, width, height: width * aspect()};
    look();
  }
  function zoom(factor, px, py) {
    const width = Math.min(Math.max(view.width * factor, 120), 4 * Math.max(bounds.width, bounds.height) + 2000);
    const real = width / view.width;
    view = {x: px - (px - view.x) * real, y: py - (py - view.y) * real, width, height: view.height * real};
    look();
  }
  const centre = () => [view.x + view.width / 2, view.y + view.height / 2];
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(event.deltaY * 0.0015), view.x + (event.clientX - box.left) / box.width * view.width,
      view.y + (event.clientY - box.top) / box.height * view.height);
  }, {passive: false});
  // A press that moves is a drag and no click, so that folded blocks can be dragged over.
  let pressed = null, moved = false;
  svg.addEventListener("pointerdown", event => {
    pressed = {x: event.clientX, y: event.clientY, view: {...view}};
    moved = false;
  });
  svg.addEventListener("pointermove", event => {
    if (!pressed || !event.buttons) { pressed = null; return; }
    const [dx, dy] = [event.clientX - pressed.x, event.clientY - pressed.y];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    const unit = view.width / svg.clientWidth;
    view = {...view, x: pressed.view.x - dx * unit, y: pressed.view.y - dy * unit};
    look();
  });

  const button = (id, text, action) => make("button", {class: "plain", id, onclick: action}, text);
  const controls = make("div", {class: "controls"},
    button("draw-fold", "Fold all", () => { open.clear(); paint(false); }),
    drawing.op.length <= ALL_AT_ONCE ? button("draw-open", "Open all", () => {
      for (let node = 0; node < drawing.op.length; node++) open.set(node, Infinity);
      paint(false);
    }) : null,
    button("draw-whole", "Whole graph", whole),
    button("draw-in", "+", () => zoom(0.7, ...centre())),
    button("draw-out", "−", () => zoom(1 / 0.7, ...centre())), info);
  return {element: make("div", {}, controls, svg), paint: () => paint(false)};
}
