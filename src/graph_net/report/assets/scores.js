// S(t) and ES(t) as graph_net.score has them: functions of seven sums over samples. The sums do not
// depend on p and b, so moving a slider costs no pass over the records.

const SLACK = 1e-4, FROZEN_FROM = 1, PARTS = 7, DRAWS = 200;
const STEPS = Array.from({length: 281}, (_, k) => -10 + k / 20);
const BAND_STEPS = Array.from({length: 141}, (_, k) => -10 + k / 10);

/** The sums by family at each step: count, correct, slower, log correct, log slower, punished,
 * and how many of the correct have a speedup. */
function sumsOf(rows, steps, levels) {
  const families = new Map(), width = steps.length * PARTS;
  for (const row of rows) {
    const family = ROWS.family[row];
    if (!families.has(family)) families.set(family, new Float64Array(width));
    const sums = families.get(family);
    const t = ROWS.fault[row] === NONE && known(ROWS.t[row]) ? ROWS.t[row] - SLACK : Infinity;
    const log = known(ROWS.ratio[row]) ? Math.log(ROWS.ratio[row]) : 0;
    const tolerated = levels[ROWS.fault[row]] ?? Infinity;
    steps.forEach((step, k) => {
      const at = k * PARTS;
      sums[at] += 1;
      if (t <= Math.min(step, FROZEN_FROM)) {
        sums[at + 1] += 1;
        if (known(ROWS.ratio[row])) sums[at + 6] += 1;
        sums[at + 3] += log;
        if (log < 0) { sums[at + 2] += 1; sums[at + 4] += log; }
      } else if (step < FROZEN_FROM || step < tolerated) sums[at + 5] += 1;
    });
  }
  return [...families.values()];
}

function total(families, chosen) {
  const sums = new Float64Array(families[0].length);
  for (const place of chosen) {
    const family = families[place];
    for (let k = 0; k < sums.length; k++) sums[k] += family[k];
  }
  return sums;
}

/** S and ES from sums, one value a step. */
function scoresOf(sums, p, b) {
  const s = [], es = [];
  for (let at = 0; at < sums.length; at += PARTS) {
    const [count, correct, , logCorrect, logSlower, punished, timed] = sums.subarray(at, at + PARTS);
    // Those that are correct and were too noisy to time count what the others do.
    const failed = count - correct, share = timed ? correct / timed : 0;
    const common = (logCorrect + p * logSlower) * share;
    s.push(Math.exp((common + failed * Math.log(b)) / count));
    es.push(Math.exp((common + punished * Math.log(b)) / count));
  }
  return {s, es};
}

/** Small generator of random numbers with a seed: the same page shows the same bands. */
function random(seed) {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

/** The sums of draws of families, with replacement. */
function drawn(families) {
  const next = random(1), size = families.length;
  return Array.from({length: DRAWS}, () =>
    total(families, Array.from({length: size}, () => Math.floor(next() * size))));
}

/** The 95 % band of "s" or "es" from draws. */
function bandOf(draws, which, p, b) {
  const values = draws.map(sums => scoresOf(sums, p, b)[which]);
  return BAND_STEPS.map((_, k) => {
    const column = ascending(values.map(row => row[k]));
    return [quantile(column, 0.025), quantile(column, 0.975)];
  });
}
