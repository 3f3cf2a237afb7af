// What of a graph is shown, and where: blocks folded or open, nodes in layers.

/**
 * The items to draw of a range of nodes. A block that repeats is one item until it is opened, and
 * then one run of it and an item for the others: `open` says how many runs of which block.
 */
function itemsOf(drawing, open) {
  const items = [];
  const walk = (from, to, shift, blocks) => {
    let node = from, next = 0;
    while (node < to) {
      while (next < blocks.length && blocks[next][0] + shift < node) next++;
      const block = blocks[next];
      if (!block || block[0] + shift !== node) {
        items.push({from: node, to: node + 1});
        node++;
        continue;
      }
      const [start, period, repeats] = block;
      const inside = blocks.filter(b => b !== block && b[0] >= start && b[0] + b[1] * b[2] <= start + period);
      const opened = Math.min(repeats, open.get(node) ?? 0);
      for (let run = 0; run < opened; run++) {
        walk(node + run * period, node + (run + 1) * period, shift + run * period, inside);
      }
      const end = node + period * repeats;
      if (opened < repeats) {
        items.push({from: node + opened * period, to: end, block: node, period,
          times: repeats - opened, again: repeats === 1 || opened > 0});
      }
      node = end;
    }
  };
  walk(0, drawing.op.length, 0, drawing.blocks);
  return items;
}

/** Items and inputs with layers and places, and the edges between them. */
function layoutOf(drawing, open) {
  const boxes = [...drawing.inputs.map((input, n) => ({input: n})), ...itemsOf(drawing, open)];
  const first = drawing.inputs.length, owner = new Int32Array(drawing.op.length);
  boxes.forEach((box, n) => { if (n >= first) owner.fill(n, box.from, box.to); });
  const edges = [];
  boxes.forEach((box, n) => {
    box.before = new Set();
    box.after = new Set();
    for (let node = box.from; node < box.to; node++) {
      for (const back of drawing.from[node]) box.before.add(owner[node - back]);
      for (const input of drawing.reads[node]) box.before.add(input);
    }
    box.before.delete(n);
    box.layer = 0;
    // Ranges of a list that is in order of execution: what is read was placed before.
    for (const source of box.before) {
      box.layer = Math.max(box.layer, boxes[source].layer + 1);
      boxes[source].after.add(n);
      edges.push([source, n]);
    }
  });
  // An input stands right above its first reader.
  for (const box of boxes.slice(0, first)) {
    const readers = [...box.after].map(n => boxes[n].layer);
    if (readers.length) box.layer = Math.max(0, Math.min(...readers) - 1);
  }
  place(boxes);
  const wide = fold(boxes), out = new Set(drawing.out);
  for (const box of boxes) Object.assign(box, labelOf(drawing, box, out));
  return {boxes, frames: [], edges: edges.map(([from, to]) => edgeOf(boxes[from], boxes[to], wide))};
}

const GAP_X = 22, ROW = BOX_HEIGHT + 26;

/** Places in layers, each box near the middle of what it reads and what reads it. */
function place(boxes) {
  const layers = [];
  for (const box of boxes) (layers[box.layer] ??= []).push(box);
  const step = BOX_WIDTH + GAP_X;
  for (const layer of layers) layer?.forEach((box, k) => { box.x = (k - (layer.length - 1) / 2) * step; });
  const settle = (layer, side) => {
    for (const box of layer) {
      const near = [...box[side]].map(n => boxes[n].x);
      box.wish = near.length ? near.reduce((a, v) => a + v, 0) / near.length : box.x;
    }
    layer.sort((a, b) => a.wish - b.wish);
    let last = -Infinity;
    for (const box of layer) last = box.x = Math.max(box.wish, last + step);
    // Pushing apart goes to the right only: move the layer back by what it went too far.
    const drift = layer.reduce((sum, box) => sum + box.x - box.wish, 0) / layer.length;
    for (const box of layer) box.x -= drift;
  };
  for (let sweep = 0; sweep < 4; sweep++) {
    for (const layer of layers) if (layer) settle(layer, "before");
    for (const layer of [...layers].reverse()) if (layer && sweep < 3) settle(layer, "after");
  }
  for (const box of boxes) box.y = box.layer * ROW;
}

/** Layers continue in a next column, as a text does, so that a long graph fits a screen. */
function fold(boxes) {
  let left = Infinity, right = -Infinity, deepest = 0;
  for (const box of boxes) {
    left = Math.min(left, box.x);
    right = Math.max(right, box.x);
    deepest = Math.max(deepest, box.layer);
  }
  const wide = right - left + BOX_WIDTH + 110, high = (deepest + 1) * ROW;
  const columns = deepest < 12 ? 1 : Math.max(1, Math.round(Math.sqrt(1.9 * high / wide)));
  const layers = Math.ceil((deepest + 1) / columns);
  for (const box of boxes) {
    box.column = Math.floor(box.layer / layers);
    box.x += box.column * wide - left;
    box.y -= box.column * layers * ROW;
  }
  return wide;
}

/** What a box says, and how it looks. */
function labelOf(drawing, box, out) {
  if (box.input !== undefined) {
    const [name, spec] = drawing.inputs[box.input];
    return {kind: "given", label: name, below: spec, about: `input ${name}\n${spec}`};
  }
  let result = false;
  for (let node = box.from; node < box.to && !result; node++) result = out.has(node);
  if (box.block === undefined) {
    const op = drawing.op[box.from], spec = drawing.specs[drawing.spec[box.from]];
    const about = `${box.from}: ${drawing.targets[op]}\n${spec}` + (drawing.weights[box.from]
      ? `\nreads ${drawing.weights[box.from]} parameters or buffers` : "");
    return {kind: drawing.kinds[op], label: drawing.names[op], below: spec, about, result};
  }
  const inside = operatorsIn(drawing, box.from, box.from + box.period);
  const most = inside.find(([op]) => drawing.kinds[op] === "heavy") ?? inside[0];
  return {
    kind: "block", opens: box.block, result,
    label: box.times > 1 ? `${box.times} × ${box.period} nodes` : `${box.period} nodes`,
    below: box.again ? "the same again" : `${drawing.names[most[0]]} …`,
    about: `Nodes ${box.from} to ${box.to - 1}: `
      + `${inside.map(([op, n]) => `${n} ${drawing.names[op]}`).join(", ")}\nClick to open`,
  };
}

/** Operators of a range with their counts, the most frequent first. */
function operatorsIn(drawing, from, to) {
  const counts = new Map();
  for (let node = from; node < to; node++) counts.set(drawing.op[node], (counts.get(drawing.op[node]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The path of an edge, and how it looks. */
function edgeOf(from, to, wide) {
  const [x1, y1, x2, y2] = [from.x, from.y + BOX_HEIGHT, to.x, to.y], span = to.layer - from.layer;
  if (from.column !== to.column) {
    // Up between the columns, just before the one it goes to.
    const gap = to.column * wide - BOX_WIDTH / 2 - 14 - (from.layer * 7) % 40;
    return [`M${x1},${y1}v9H${gap}V${y2 - 9}H${x2}V${y2}`, span > 2 ? "far" : "turn"];
  }
  if (span <= 1) {
    const bend = (y2 - y1) / 2;
    return [`M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`, ""];
  }
  // Past the boxes in between, on the side where the target is.
  const side = Math.max(x1, x2) + BOX_WIDTH / 2 + 8 + Math.min(60, 5 * span);
  const run = Math.min(60, (y2 - y1) / 3);
  return [`M${x1},${y1}C${x1},${y1 + run / 2} ${side},${y1} ${side},${y1 + run}L${side},${y2 - run}`
    + `C${side},${y2} ${x2},${y2 - run / 2} ${x2},${y2}`, span > 12 ? "far" : ""];
}
