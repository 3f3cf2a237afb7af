// A graph that the server lays out: opened and folded by asking for another picture.

function servedDrawing(home, first, parameter, onnode) {
  const open = new Map();
  const info = make("span", {role: "status", id: `${home.id}-info`});
  const side = home.dataset.side;
  let asking = 0;

  const canvas = canvasOf({id: home.id === "drawing-home" ? "drawing" : `${home.id}-svg`,
    onopen: id => { open.set(id, (open.get(id) ?? 0) + 1); ask(true); },
    onclose: id => { fold(id); ask(true); },
    onnode: box => onnode?.(home, box)});

  /** Forgets a block, and what is open inside it. */
  function fold(id) {
    const [from, to] = id.split("-").map(Number);
    for (const each of [...open.keys()]) {
      const [start, stop] = each.split("-").map(Number);
      if (start >= from && stop <= to) open.delete(each);
    }
  }

  const openText = () => [...open].map(([id, runs]) => runs > 1 ? `${id}x${runs}` : id).join(",");

  async function ask(keep, at = "") {
    const mine = ++asking, {graph, pack, other = "", otherPack = ""} = home.dataset;
    const query = new URLSearchParams({id: graph, pack, open: openText(), at});
    if (other) for (const [key, value] of [["other", other], ["other_pack", otherPack], ["side", side]]) query.set(key, value);
    const answer = await fetch(`/picture.json?${query}`);
    if (mine !== asking) return;
    if (!answer.ok) { info.textContent = "That is too much at once: fold something first."; return; }
    show(await answer.json(), keep);
    const address = new URL(location);
    if (open.size) address.searchParams.set(parameter, openText());
    else address.searchParams.delete(parameter);
    history.replaceState(null, "", address);
  }

  function show(picture, keep) {
    open.clear();
    for (const each of picture.open) {
      const [id, runs] = each.split("x");
      open.set(id, Number(runs));
    }
    canvas.show(picture, keep);
    info.textContent = `${counted(picture.nodes, "node")} in ${counted(picture.shown, "box", "boxes")}`;
    home.dataset.shown = picture.shown;
    const at = picture.boxes.find(box => box.at);
    if (at) canvas.near(at.x, at.y);
  }

  home.append(make("div", {class: "controls"},
    canvas.button("fold", "Fold all", () => { open.clear(); ask(false); }), ...canvas.buttons(), info), canvas.svg);
  show(first, false);
  return {go: at => ask(true, at)};
}
