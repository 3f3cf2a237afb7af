// The curves: hover or arrow keys show the values at t; p, b and the interpretation are free.

function curves() {
  const width = 920, height = 380, left = 46, right = width - 12, top = 10, bottom = height - 44;
  const rows = DATA.compilers.map((_, n) => [...Array(COUNT).keys()].filter(
    row => ROWS.compiler[row] === n && ROWS.fault[row] !== NOT_COUNTED));
  const places = rows.map((_, n) => n).filter(n => rows[n].length);
  const state = {which: "es", interpretation: DATA.interpretation, t: null, ...DATA.parameters};
  let sums = [], draws = [], shown = [], work = 0;
  const x = scale(-10, 4, left, right);
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0,
    id: "curve-chart", "aria-label": "Scores at each tolerance t; arrow keys move along t"});
  const tip = make("div", {class: "tip", hidden: ""});
  const chart = make("div", {class: "chart"}, svg, tip);

  /** Sums depend on the interpretation alone; the draws, which take longer, follow one by one. */
  function prepare() {
    const levels = DATA.interpretations[state.interpretation].map(v => v ?? Infinity);
    sums = rows.map(each => {
      const found = sumsOf(each, STEPS, levels);
      return found.length ? total(found, found.keys()) : null;
    });
    draws = [];
    const mine = ++work;
    paint();
    const next = n => {
      if (mine !== work || n >= rows.length) return;
      if (rows[n].length) draws[n] = drawn(sumsOf(rows[n], BAND_STEPS, levels));
      paint();
      setTimeout(next, 0, n + 1);
    };
    setTimeout(next, 0, 0);
  }

  function paint() {
    shown = sums.map(each => each && scoresOf(each, state.p, state.b)[state.which]);
    const bands = draws.map(each => each && bandOf(each, state.which, state.p, state.b));
    const most = Math.max(1, ...shown.flatMap(v => v ?? []), ...bands.flat().map(v => v ? v[1] : 0));
    const y = scale(0, most * 1.06, bottom, top);
    svg.replaceChildren(
      draw("rect", {class: "zone", x: x(1), y: top, width: right - x(1), height: bottom - top}),
      draw("text", {class: "faint", x: x(1) + 6, y: bottom - 8}, "kinds of failures let pass"),
      axisX(x, [-10, -8, -6, -4, -2, 0, 2, 4], top, bottom, "tolerance t"),
      axisY(y, ticks(0, most * 1.06), left, right),
      draw("line", {class: "one", x1: left, x2: right, y1: y(1), y2: y(1)}));
    for (const n of places) {
      if (bands[n]) svg.append(draw("path", {class: "band", fill: colour(n), d: area(bands[n], y)}));
    }
    for (const n of places) {
      // Scores change where another result passes, and stay in between: a staircase, not a slope.
      const d = STEPS.map((t, k) => k ? `H${x(t).toFixed(1)}V${y(shown[n][k]).toFixed(1)}`
        : `M${x(t)},${y(shown[n][0])}`);
      svg.append(draw("path", {class: "mark curve", stroke: colour(n), "stroke-dasharray": dash(n),
        "data-compiler": DATA.compilers[n], d: d.join("")}));
    }
    point(state.t);
  }

  const area = (band, y) => {
    const upper = band.map(([, high], k) => k ? `H${x(BAND_STEPS[k])}V${y(high)}` : `M${x(-10)},${y(high)}`);
    const lower = band.map(([low], k) => `V${y(low)}H${x(BAND_STEPS[k])}`).reverse();
    return `${upper.join("")}${lower.join("")}Z`;
  };

  /** Shows the values at a t, or nothing. */
  function point(t) {
    state.t = t;
    svg.querySelector(".cursor")?.remove();
    if (t === null) { tip.hidden = true; return; }
    const k = Math.round((Math.min(4, Math.max(-10, t)) + 10) * 20), at = STEPS[k];
    svg.append(draw("line", {class: "cursor one", x1: x(at), x2: x(at), y1: top, y2: bottom}));
    const order = [...places].sort((a, b) => shown[b][k] - shown[a][k]);
    const lines = order.map(n => [make("span", {class: `key c${n % 7}`}),
      `${DATA.compilers[n]}: ${shown[n][k].toFixed(3)}`]);
    const name = state.which === "es" ? "ES" : "S";
    showTip(tip, chart, x(at) * svg.clientWidth / width,
      [`${name}(${at.toFixed(2).replace("-", "−")})`, ...lines]);
  }

  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect();
    point(x.back((event.clientX - box.left) * width / box.width));
  });
  svg.addEventListener("pointerleave", () => point(null));
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -0.5, ArrowRight: 0.5}[event.key];
    if (!step) return;
    event.preventDefault();
    point((state.t ?? 0) + step);
  });

  const slider = (name, low, high, text) => {
    const value = make("output", {}, String(state[name]));
    const input = make("input", {type: "range", id: `slider-${name}`, min: low, max: high,
      step: 0.01, value: state[name], oninput: () => {
        state[name] = Number(input.value);
        value.textContent = input.value;
        paint();
      }});
    return labelled(text, input, value);
  };
  const which = make("select", {id: "which", onchange: () => { state.which = which.value; paint(); }},
    make("option", {value: "es"}, "ES(t)"), make("option", {value: "s"}, "S(t)"));
  const reading = choice(Object.keys(DATA.interpretations), () => {
    state.interpretation = reading.value;
    prepare();
  });
  reading.value = state.interpretation;
  section("curves").append(
    make("div", {class: "controls"}, labelled("score", which), labelled("tolerances", reading),
      slider("p", 0, 2, "p, penalty for slowdowns"),
      slider("b", 0.01, 1, "b, what a failure counts")),
    legend(DATA.compilers, places), chart,
    make("p", {class: "note"}, "Bands: 95 % of 200 draws of model families alone; the table above has the error of "
      + "measuring too."));
  if (places.length) prepare();
}
