// The data of the page, and what its rows say.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = DATA.rows;
const COUNT = ROWS.graph.length;
const NONE = 0, NOT_COUNTED = -1;

/** What became of a row, in a word: a verdict, "too noisy", "failed" or "excluded". */
function outcome(row) {
  if (ROWS.fault[row] === NOT_COUNTED) return "excluded";
  if (ROWS.fault[row] === NONE && ROWS.cluster[row] >= 0) return "too noisy";
  return ROWS.cluster[row] >= 0 ? "failed" : DATA.verdicts[ROWS.verdict[row]];
}

function outcomeText(row) {
  if (ROWS.cluster[row] < 0 || outcome(row) === "too noisy") return outcome(row);
  const [stage, symptom] = DATA.clusters[ROWS.cluster[row]];
  return `${outcome(row)}: ${stage}, ${symptom.replaceAll("_", " ")}`;
}

const linkTo = graph => make("a",
  {href: (DATA.links ?? "#graph=") + encodeURIComponent(DATA.graphs.id[graph])},
  ...breakable(DATA.graphs.name[graph] || DATA.graphs.id[graph]));

const unpacked = new Map();

/** One line of "details" or "drawings", inflated when it is asked for. */
async function unpack(name, line) {
  if (!unpacked.has(name)) unpacked.set(name, section(name).textContent.split("\n"));
  const bytes = Uint8Array.from(atob(unpacked.get(name)[line]), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}
