// The page of a graph: its drawing, the call that was clicked, and every measurement.

const home = document.getElementById("drawing-home");
if (home) {
  const panel = make("aside", {id: "call", hidden: "", "aria-live": "polite"});
  const drawing = servedDrawing(home, JSON.parse(section("picture").textContent), "open", showCall);
  home.append(panel);

  async function showCall(_, box) {
    const {graph, pack} = home.dataset;
    const answer = await fetch(`/node.json?${new URLSearchParams({id: graph, pack, node: box.node})}`);
    if (!answer.ok) return;
    const call = await answer.json();
    const go = ([number, name, text]) => make("li", {}, number < 0 ? make("code", {}, name)
      : make("button", {class: "link", type: "button", onclick: () => { drawing.go(number); }}, name), ` ${text}`);
    panel.hidden = false;
    panel.dataset.node = call.number;
    panel.replaceChildren(make("button", {class: "plain close", type: "button", "aria-label": "Close",
      onclick: () => { panel.hidden = true; }}, "×"), make("h3", {}, `${call.number}: ${call.name}`),
    make("pre", {class: "code"}, call.call), make("p", {}, call.result),
    make("h3", {}, "Reads"), make("ul", {}, ...call.reads.map(go)),
    make("h3", {}, "Is read by"), make("ul", {}, ...call.readers.map(go)));
  }
}

const measurements = document.getElementById("measurements");
Promise.all([...Array(COUNT).keys()].map(row => unpack("details", row))).then(details => {
  measurements.replaceChildren(...details.map((detail, row) => measurement(row, detail)));
  document.body.dataset.ready = "yes";
});
