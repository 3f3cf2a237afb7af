// The A/A control as a picture: how far eager was from itself, over all timings.

function controlChart() {
  const values = ROWS.noise.filter(known).map(value => (value - 1) * 100);
  if (!values.length) return;
  const sorted = ascending(values.map(Math.abs));
  const far = Math.max(1, quantile(sorted, 0.99) * 1.15), bins = 60;
  const counts = new Array(bins).fill(0);
  for (const value of values) {
    const bin = Math.floor((Math.min(far, Math.max(-far, value)) + far) / (2 * far) * bins);
    counts[Math.min(bins - 1, bin)]++;
  }
  const width = 920, height = 170, left = 46, right = width - 12, top = 8, bottom = height - 44;
  const x = scale(-far, far, left, right), y = scale(0, Math.max(...counts), bottom, top);
  const bars = counts.map((count, k) => draw("rect", {
    x: x(-far + 2 * far * k / bins) + 0.5, width: (right - left) / bins - 1, y: y(count),
    height: bottom - y(count), fill: "var(--c0)", "fill-opacity": 0.65},
  draw("title", {}, `${count} timings`)));
  const at = ticks(-far, far, 8);
  section("control").append(draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    id: "control-chart", "aria-label": "How far eager was from itself"},
  axisX(x, at, top, bottom, "eager / eager − 1, per cent (all compilers; ends hold what lies beyond)"),
  axisY(y, ticks(0, Math.max(...counts), 3).filter(Number.isInteger), left, right), ...bars));
}
