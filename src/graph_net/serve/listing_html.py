"""The page of a table: filter fields, rows, and links to other pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graph_net.printable import count_phrase
from graph_net.serve.listing import (
    OPERATIONS,
    TableQuery,
    TableView,
    ask,
    known_columns,
    ordered,
    select,
)
from graph_net.serve.markup import Child, Html, join, link, table, tag

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from graph_net.serve.state import ServedState

PER_PAGE = 50
CELL = 200
"""Most characters of a text in a table."""


def listing_body(state: ServedState, listing: TableView, query: QueryParams) -> list[Html]:
    """Return the form, the rows and the links."""
    known = known_columns(state, listing)
    asked = TableQuery.of(query, listing, known)
    columns = list(dict.fromkeys([*asked.columns, *(k for k in listing.keys if k in known)]))
    rows_query, parameters = select(listing, asked, columns)
    count_query = f"SELECT count(*) AS n FROM ({rows_query})"  # noqa: S608
    total = int(ask(state, asked, count_query, parameters).table["n"][0].as_py())
    offset = (asked.page - 1) * PER_PAGE
    chosen = f"{ordered(listing, rows_query, asked)} LIMIT {PER_PAGE} OFFSET {offset}"
    rows = ask(state, asked, chosen, parameters).table.to_pylist()
    return [
        form(listing, asked, known),
        tag(
            "div",
            tag("span", count_phrase(total, listing.noun), role="status", id="found"),
            downloads(
                asked.address(listing, ".csv", page=""), asked.address(listing, ".parquet", page="")
            ),
            class_="controls",
        ),
        rows_table(listing, asked, rows),
        pager(listing, asked, total),
    ]


def downloads(csv: str, parquet: str) -> Html:
    """Return links to the whole table as files."""
    return tag("span", "Download ", tag("a", "CSV", href=csv, download=True), " · ",
               tag("a", "Parquet", href=parquet, download=True), class_="downloads")  # fmt: skip


def form(listing: TableView, asked: TableQuery, known: Sequence[str]) -> Html:
    """Return the form that filters rows."""
    triples = [*asked.filters, ("", "contains", "")]
    filters = [_filter(known, *triple) for triple in triples]
    choose = [
        tag(
            "label",
            tag("input", type="checkbox", name="show", value=name, checked=name in asked.columns),
            " ",
            name,
        )
        for name in known
    ]
    opened = bool(asked.filters or asked.where)
    return tag(
        "form",
        tag("div",
            tag("input", type="search", name="q", value=asked.search, id="search",
                placeholder=" or ".join(listing.searched), aria_label="Search"),
            tag("button", "Find", class_="plain"),
            link("Reset", listing.path) if opened or asked.search else None, class_="controls"),
        tag("details", tag("summary", "Filter by any column, or SQL"),
            filters,
            tag("label", "SQL condition ",
                tag("input", name="where", value=asked.where, class_="sql", spellcheck="false",
                    placeholder="nodes > 1000 AND list_contains(operators, 'torch.relu')"
                    if listing.table == "graphs" else "speedup < 1", aria_label="SQL condition"),
                class_="line"),
            tag("button", "Apply", class_="plain"), open=opened),
        tag("details", tag("summary", "Columns"), tag("div", choose, class_="columns-chosen"),
            tag("button", "Show these", class_="plain"), open=False),
        tag("input", type="hidden", name="sort", value=asked.order),
        tag("input", type="hidden", name="down", value="1") if asked.down else None,
        method="get", action=listing.path, class_="filters",
    )  # fmt: skip


def _filter(known: Sequence[str], column: str, operation: str, value: str) -> Html:
    def options(names: Sequence[str], chosen: str) -> list[Html]:
        return [tag("option", n or "column", value=n, selected=n == chosen) for n in names]

    return tag(
        "div",
        tag("select", options(["", *known], column), name="col", aria_label="Column"),
        tag("select", options(list(OPERATIONS), operation), name="op", aria_label="Comparison"),
        tag("input", name="val", value=value.strip(), aria_label="Value", placeholder="value"),
        class_="controls filter",
    )


def rows_table(listing: TableView, asked: TableQuery, rows: Sequence[dict[str, Any]]) -> Html:
    """Return the rows, with headings that sort."""
    heads = [_head(listing, asked, name, any(_is_number(row[name]) for row in rows))
             for name in asked.columns]  # fmt: skip
    if not rows:
        return tag("p", "No row meets this.", class_="note")
    body = [
        tag("tr", [
            tag("td", listing.cell(name, row) or cell(row[name]), data_name=name,
                class_=None if _is_number(row[name]) else "word")
            for name in asked.columns
        ])
        for row in rows
    ]  # fmt: skip
    inside = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body), class_="graphs")
    return tag("div", inside, class_="wide rows")


def _head(listing: TableView, asked: TableQuery, name: str, number: bool) -> Html:
    is_order = name == asked.order
    down = "" if not is_order or asked.down else "1"
    to = asked.address(listing, sort=name, down=down, page="")
    sort = ("descending" if asked.down else "ascending") if is_order else None
    return tag("th", tag("a", name.replace("_", " "), href=to), scope="col", aria_sort=sort,
               class_=None if number else "word")  # fmt: skip


def pager(listing: TableView, asked: TableQuery, total: int) -> Html:
    """Return links to the previous and next page."""
    last = max(1, -(-total // PER_PAGE))
    parts: list[Child] = []
    if asked.page > 1:
        before = asked.page - 1 if asked.page > 2 else ""
        parts.append(tag("a", "← previous", href=asked.address(listing, page=before), rel="prev"))
    parts.append(tag("span", f"page {asked.page:,} of {last:,}"))
    if asked.page < last:
        to = asked.address(listing, page=asked.page + 1)
        parts.append(tag("a", "next →", href=to, rel="next"))
    return tag("nav", *parts, class_="pager", aria_label="Pages")


def answer_table(table_: Any, most: int = 500) -> Html:
    """Return the rows of an answer as a table."""
    names = list(table_.column_names)
    rows = table_.slice(0, most).to_pylist() if len(set(names)) == len(names) else []
    return table(names, [[cell(row[name]) for name in names] for row in rows], "answer")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def cell(value: Any) -> Html:
    """Return a readable value; a truncated text is complete in its title."""
    if value is None:
        return Html("")
    if isinstance(value, bool):
        return join(str(value).lower())
    if isinstance(value, int):
        return join(f"{value:,}")
    if isinstance(value, float):
        return join(f"{value:.5g}")
    if isinstance(value, (list, tuple)):
        text = ", ".join(_item(one) for one in value[:8]) + (" …" if len(value) > 8 else "")
    else:
        text = value.isoformat(" ") if hasattr(value, "isoformat") else str(value)
    return join(text) if len(text) <= CELL else tag("span", f"{text[:CELL]}…", title=text[:4000])


def _item(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:CELL]


def broken(text: str) -> Html:
    """Return a name with line-break opportunities after its parts."""
    parts: list[Child] = []
    for part in text.replace("/", "/\0").replace("_", "_\0").split("\0"):
        parts += [part, tag("wbr")]
    return join(*parts[:-1])
