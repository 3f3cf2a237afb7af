// A run, or two: the sections that the page has a place for.

if (COUNT) {
  if (section("curves")) curves();
  if (section("speedups")) violins();
  if (section("graphs")) {
    const table = graphTable();
    if (section("regressions")) regressions(table);
  }
  if (section("control")) controlChart();
}
document.body.dataset.ready = "yes";
