// A graph drawn: folded by repeated block, laid out here.

const ALL_AT_ONCE = 6000;

function drawingOf(drawing) {
  const open = new Map();
  const info = make("span", {role: "status", id: "drawing-info"});
  const canvas = canvasOf({onopen: block => {
    open.set(block, (open.get(block) ?? 0) + 1);
    paint(true);
  }});

  function paint(keep) {
    const picture = layoutOf(drawing, open);
    canvas.show(picture, keep);
    info.textContent = `${counted(drawing.op.length, "node")} in `
      + counted(picture.boxes.length - drawing.inputs.length, "box", "boxes");
  }

  const controls = make("div", {class: "controls"},
    canvas.button("fold", "Fold all", () => { open.clear(); paint(false); }),
    drawing.op.length <= ALL_AT_ONCE ? canvas.button("open", "Open all", () => {
      for (let node = 0; node < drawing.op.length; node++) open.set(node, Infinity);
      paint(false);
    }) : null,
    ...canvas.buttons(), info);
  return {element: make("div", {}, controls, canvas.svg), paint: () => paint(false)};
}
