// Everything drawn, and the address followed: #graph=ID opens the view of a graph.

curves();
violins();
const table = graphTable();
regressions(table);
controlChart();

const PAGE = document.querySelector("main"), HEADER = document.querySelector("header");

async function follow() {
  const found = /^#graph=(.+)$/.exec(location.hash);
  const view = section("view"), was = !view.hidden;
  PAGE.hidden = HEADER.hidden = Boolean(found);
  view.hidden = !found;
  if (found) {
    let id = found[1];
    try { id = decodeURIComponent(id); } catch { /* not one of our links: looked up as it is */ }
    view.replaceChildren();
    window.scrollTo(0, 0);
    await showGraph(id);
    view.dataset.ready = id;
  } else if (was) {
    asked++;
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
}

window.addEventListener("hashchange", follow);
document.body.dataset.ready = "yes";
follow();
