// Everything drawn, and the address followed: #graph=ID or #task=ID opens the view of one.

if (COUNT) {
  curves();
  violins();
  regressions(graphTable());
  controlChart();
}
if (TASKS) taskTable();

const PAGE = document.querySelector("main"), HEADER = document.querySelector("header");

async function follow() {
  const found = /^#(graph|task)=(.+)$/.exec(location.hash);
  const view = section("view"), was = !view.hidden;
  PAGE.hidden = HEADER.hidden = Boolean(found);
  view.hidden = !found;
  if (found) {
    let id = found[2];
    try { id = decodeURIComponent(id); } catch { /* not one of our links: looked up as it is */ }
    view.replaceChildren();
    window.scrollTo(0, 0);
    await (found[1] === "graph" ? showGraph(id) : showTask(id));
    view.dataset.ready = id;
  } else if (was) {
    asked++;
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
}

window.addEventListener("hashchange", follow);
document.body.dataset.ready = "yes";
follow();
