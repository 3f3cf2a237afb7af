// A picture of a graph, whoever laid it out: painted, moved by dragging, scaled by the wheel.

const BOX_WIDTH = 150, BOX_HEIGHT = 36;

/**
 * An SVG that shows pictures: boxes (x is their middle), frames around open blocks, and edges.
 * `onopen(block)`, `onclose(block)` and `onnode(box)` are called for what is clicked.
 */
function canvasOf({id = "drawing", onopen, onclose = null, onnode = null}) {
  const svg = draw("svg", {class: "drawing", id, role: "img",
    "aria-label": "The graph; drag to move, wheel to scale, click a folded block to open it"});
  let view = null, bounds = null;

  /** Paints a picture; `keep` leaves the part that is looked at. */
  function show({boxes, frames, edges}, keep) {
    svg.replaceChildren(draw("g", {}, ...frames.map(frameOf)),
      draw("g", {}, ...edges.map(([d, kind]) => draw("path", {class: kind || null, d}))),
      draw("g", {}, ...boxes.map(boxOf)));
    const ends = (low, high) => [Math.min(...low), Math.max(...high)];
    const [left, right] = ends([...boxes.map(box => box.x - BOX_WIDTH), ...frames.map(f => f.x - 30)],
      [...boxes.map(box => box.x + BOX_WIDTH), ...frames.map(f => f.x + f.width + 30)]);
    const [top, bottom] = ends([...boxes.map(box => box.y - 20), ...frames.map(f => f.y - 20)],
      [...boxes.map(box => box.y + BOX_HEIGHT + 20), ...frames.map(f => f.y + f.height + 20)]);
    bounds = {x: left, y: top, width: right - left, height: bottom - top};
    if (!keep || !view) begin();
    look();
  }

  /** Makes a group do something when it is clicked, or Enter is pressed on it. */
  function acts(group, action) {
    group.addEventListener("click", () => { if (!moved) action(); });
    group.addEventListener("keydown", event => { if (event.key === "Enter") action(); });
    group.setAttribute("tabindex", 0);
    group.setAttribute("role", "button");
  }

  function frameOf(frame) {
    const group = draw("g", {class: "frame", transform: `translate(${frame.x},${frame.y})`},
      draw("rect", {width: frame.width, height: frame.height, rx: 6}),
      draw("text", {x: 12, y: 17}, frame.closes && onclose ? `− ${frame.label}` : frame.label));
    if (frame.closes && onclose) {
      group.append(draw("title", {}, "Click to fold"));
      group.classList.add("closes");
      acts(group, () => onclose(frame.closes));
    }
    return group;
  }

  function boxOf(box) {
    const kinds = [box.kind, box.result ? "result" : "", box.mark ? `mark ${box.mark}` : "", box.at ? "at" : ""];
    const group = draw("g", {class: kinds.filter(Boolean).join(" "),
      transform: `translate(${Number(box.x.toFixed(1))},${box.y})`});
    if (box.kind === "block") acts(group, () => onopen(box.opens));
    else if (onnode && box.node !== undefined) acts(group, () => onnode(box));
    group.append(draw("title", {}, box.about),
      draw("rect", {x: -BOX_WIDTH / 2, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 4}),
      draw("text", {y: 15}, clipped(box.label, 22)), draw("text", {class: "small", y: 29}, clipped(box.below, 27)));
    return group;
  }

  // Looking: `view` is what part is seen, in the drawing's own units.
  function look() {
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    svg.classList.toggle("tiny", view.width / (svg.clientWidth || 900) > 3.2);
  }
  const aspect = () => (svg.clientHeight || 600) / (svg.clientWidth || 900);
  /** The beginning of the graph, at a size that can be read. */
  function begin() {
    const needed = Math.max(bounds.width, bounds.height / aspect(), 700);
    const most = Math.max(760, 1.9 * (svg.clientWidth || 900));
    if (needed <= most) { whole(); return; }
    const width = Math.min(1600, most);
    const x = bounds.x + Math.min(0, (bounds.width - width) / 2);
    view = {x, y: bounds.y, width, height: width * aspect()};
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
  const middle = () => [view.x + view.width / 2, view.y + view.height / 2];
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

  /** Puts a place of the picture into the middle, at a size that can be read. */
  function near(x, y) {
    const width = Math.min(view.width, 1200);
    view = {width, height: width * aspect(), x: x - width / 2, y: y - width * aspect() / 2};
    look();
  }
  const button = (name, text, action) => make("button", {class: "plain", id: `${id === "drawing" ? "draw" : id}-${name}`,
    type: "button", onclick: action}, text);
  const buttons = () => [button("whole", "Whole graph", whole), button("in", "+", () => zoom(0.7, ...middle())),
    button("out", "−", () => zoom(1 / 0.7, ...middle()))];
  return {svg, show, near, button, buttons};
}
