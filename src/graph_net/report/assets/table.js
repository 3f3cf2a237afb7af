// The table of graphs: sorted and filtered in memory, drawn a part at a time.

const SHOWN_AT_ONCE = 200;
const COLUMNS = [
  {name: "graph", value: row => DATA.graphs.name[ROWS.graph[row]], cell: row => linkTo(ROWS.graph[row])},
  {name: "compiler", value: row => DATA.compilers[ROWS.compiler[row]], word: true},
  {name: "category", value: row => DATA.graphs.category[ROWS.graph[row]], word: true},
  {name: "speedup", value: row => ROWS.speedup[row], text: row => times(ROWS.speedup[row])},
  {name: "interval", value: row => spread(row), text: row => !known(ROWS.speedup[row]) ? ""
    : `${ROWS.speedup_low[row].toPrecision(3)} … ${ROWS.speedup_high[row].toPrecision(3)}`},
  {name: "verdict", value: outcomeText, word: true, kind: row => `verdict-${outcome(row).split(" ")[0]}`},
  {name: "t", value: row => ROWS.t[row], text: row => level(ROWS.t[row])},
  {name: "compile cold", value: row => ROWS.cold[row], text: row => seconds(ROWS.cold[row])},
  {name: "warm", value: row => ROWS.warm[row], text: row => seconds(ROWS.warm[row])},
  {name: "memory", value: row => ROWS.memory[row], text: row => gibi(ROWS.memory[row])},
];
// Only where a roofline was measured.
if (ROWS.floor.some(known)) COLUMNS.push(
  {name: "floor", value: row => ROWS.floor[row], text: row => seconds(ROWS.floor[row])},
  {name: "headroom", value: row => ROWS.headroom[row], text: headroomText,
    kind: row => ROWS.impossible[row] ? "impossible" : null});

function headroomText(row) {
  const value = ROWS.headroom[row];
  if (known(ROWS.floor[row]) && !known(value)) {
    return ROWS.impossible[row] ? "impossible" : "FLOPs unknown";
  }
  return known(value) ? `${value.toPrecision(3)}×${ROWS.impossible[row] ? " impossible" : ""}` : "";
}

/** How wide an interval is, as a share of its value: what its column is sorted by. */
function spread(row) {
  const value = ROWS.speedup[row];
  return known(value) ? (ROWS.speedup_high[row] - ROWS.speedup_low[row]) / value : null;
}

/** Rows by a column; those without a value come last either way. */
function sortRows(rows, column, down) {
  const keys = new Map(rows.map(row => [row, column.value(row)]));
  const sign = down ? -1 : 1;
  return rows.sort((a, b) => {
    const [first, second] = [keys.get(a), keys.get(b)];
    if (!known(first) || !known(second)) return known(second) - known(first) || a - b;
    const order = typeof first === "string" ? first.localeCompare(second) : first - second;
    return sign * order || a - b;
  });
}

function cellOf(row, column) {
  const made = column.cell?.(row) ?? (column.text ?? column.value)(row);
  return column.word && typeof made === "string" ? breakable(made) : [made];
}

function tableRow(row, columns) {
  return make("tr", {}, ...columns.map(column => make("td",
    {class: [column.word ? "word" : "", column.kind?.(row) ?? ""].join(" ").trim() || null,
      "data-name": column.name},
    ...cellOf(row, column))));
}

/** A table that is sorted by its headings and shown a part at a time, of the rows `choose` gives. */
function sortedTable(columns, state, {id, noun, total, choose}) {
  let chosen = [], shown = SHOWN_AT_ONCE;
  const count = make("span", {role: "status"}), body = make("tbody");
  const more = make("button", {class: "plain", onclick: () => {
    shown += SHOWN_AT_ONCE;
    paint();
  }}, `Show ${SHOWN_AT_ONCE} more`);
  const heads = columns.map(column => make("th", {scope: "col", class: column.word ? "word" : null},
    make("button", {onclick: () => {
      state.down = state.column === column ? !state.down : Boolean(column.down);
      state.column = column;
      refresh();
    }}, column.name)));

  function refresh() {
    chosen = sortRows(choose(), state.column, state.down);
    shown = SHOWN_AT_ONCE;
    heads.forEach((head, k) => head.setAttribute("aria-sort",
      columns[k] !== state.column ? "none" : state.down ? "descending" : "ascending"));
    paint();
  }

  function paint() {
    count.textContent = `${chosen.length.toLocaleString()} of ${counted(total, noun)}`;
    body.replaceChildren(...chosen.slice(0, shown).map(row => tableRow(row, columns)));
    more.hidden = chosen.length <= shown;
  }

  const element = make("div", {class: "wide tall"}, make("table", {class: "graphs", id},
    make("thead", {}, make("tr", {}, ...heads)), body));
  return {element, more, count, refresh};
}

function graphTable() {
  const filter = () => shown.refresh();
  const search = make("input", {type: "search", id: "search", placeholder: "name, model or library",
    "aria-label": "Filter by name", oninput: filter});
  const compiler = choice(DATA.compilers, filter, "all compilers");
  const category = choice([...new Set(DATA.graphs.category)].sort().filter(Boolean), filter,
    "all categories");
  const verdict = choice([...DATA.verdicts, "too noisy", "failed", "excluded"], filter, "all verdicts");
  [compiler.id, category.id, verdict.id] = ["by-compiler", "by-category", "by-verdict"];
  for (const [each, text] of [[compiler, "compiler"], [category, "category"], [verdict, "verdict"]]) {
    each.setAttribute("aria-label", `Filter by ${text}`);
  }

  function choose() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), chosen = [];
    for (let row = 0; row < COUNT; row++) {
      const g = ROWS.graph[row], graphs = DATA.graphs;
      if (compiler.value && DATA.compilers[ROWS.compiler[row]] !== compiler.value) continue;
      if (category.value && graphs.category[g] !== category.value) continue;
      if (verdict.value && outcome(row) !== verdict.value) continue;
      const text = `${graphs.name[g]} ${graphs.model[g]} ${graphs.library[g]}`.toLowerCase();
      if (words.every(word => text.includes(word))) chosen.push(row);
    }
    return chosen;
  }

  const shown = sortedTable(COLUMNS, {column: COLUMNS[3], down: false},
    {id: "graph-table", noun: "measurement", total: COUNT, choose});
  shown.count.id = "found";
  section("graphs").append(
    make("div", {class: "controls"}, search, compiler, category, verdict, shown.count),
    shown.element, shown.more);
  shown.refresh();
  return {
    /** Shows the rows of one verdict. */
    only(word) { verdict.value = word; filter(); },
  };
}

/** What is surely slower than eager, the slowest first. */
function regressions(table) {
  const slower = [...Array(COUNT).keys()].filter(row => outcome(row) === "slower");
  sortRows(slower, COLUMNS[3], false);
  const home = section("regressions");
  if (!slower.length) { home.append(make("p", {}, "Nothing is surely slower than eager.")); return; }
  const columns = COLUMNS.filter(column => !["verdict", "memory"].includes(column.name));
  const heads = columns.map(column => make("th", {scope: "col", class: column.word ? "word" : null},
    column.name));
  home.append(
    make("p", {}, `${slower.length.toLocaleString()} ${slower.length === 1 ? "is" : "are"} surely slower than eager, `
      + "the slowest first. ",
      make("a", {href: "#graphs", onclick: () => table.only("slower")}, "All of them in the table")),
    make("div", {class: "wide"}, make("table", {class: "graphs", id: "regression-table"},
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...slower.slice(0, 15).map(row => tableRow(row, columns))))));
}
