"""An SQL table as a page: choose, filter and sort columns; every view has an address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph_net.serve.ask_sql import Answer, SqlLimits
from graph_net.serve.markup import Child, address

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from graph_net.serve.state import ServedState

OPERATIONS = {
    "contains": "CAST({} AS VARCHAR) ILIKE ?",
    "=": "CAST({} AS VARCHAR) = ?",
    "≠": "CAST({} AS VARCHAR) IS DISTINCT FROM ?",
    ">": "TRY_CAST({} AS DOUBLE) > TRY_CAST(? AS DOUBLE)",
    "<": "TRY_CAST({} AS DOUBLE) < TRY_CAST(? AS DOUBLE)",
    "is empty": "({} IS NULL OR CAST({} AS VARCHAR) = '')",
}
MOST_DOWNLOAD = 1_000_000
USERS = SqlLimits(rows=MOST_DOWNLOAD, seconds=10.0)
MOST_FILTERS = 12


@dataclass(frozen=True)
class TableView:
    """A table, and the defaults of its page."""

    table: str
    noun: str
    columns: tuple[str, ...]
    searched: tuple[str, ...]
    keys: tuple[str, ...]
    """Columns that links need, even if they are not shown."""
    order: str
    cell: Callable[[str, dict[str, Any]], Child | None]
    """The content of a cell that is a link; None for a plain value."""

    @property
    def path(self) -> str:
        """The address of the page."""
        return f"/{self.table}"


@dataclass(frozen=True)
class TableQuery:
    """The columns, filters and order that an address requests."""

    search: str
    filters: tuple[tuple[str, str, str], ...]
    where: str
    columns: tuple[str, ...]
    order: str
    down: bool
    page: int

    @staticmethod
    def of(query: QueryParams, listing: TableView, known: Sequence[str]) -> TableQuery:
        """Parse a query; unknown column names are ignored."""
        triples = zip(query.getlist("col"), query.getlist("op"), query.getlist("val"), strict=False)
        filters = tuple(
            (col, op, val)
            for col, op, val in list(triples)[:MOST_FILTERS]
            if col in known and op in OPERATIONS and (val or op == "is empty")
        )
        columns = tuple(name for name in query.getlist("show") if name in known)
        order = query.get("sort", listing.order)
        page = query.get("page", "1")
        return TableQuery(
            query.get("q", ""), filters, query.get("where", "").strip(),
            columns or tuple(name for name in listing.columns if name in known),
            order if order in known else listing.order, query.get("down", "") == "1",
            min(int(page), 100_000) if page.isascii() and page.isdecimal() and page != "0" else 1,
        )  # fmt: skip

    def address(self, listing: TableView, suffix: str = "", **changed: object) -> str:
        """Return the address of this query with some fields changed."""
        parts: dict[str, object] = {
            "q": self.search,
            "col": [col for col, _, _ in self.filters],
            "op": [op for _, op, _ in self.filters],
            "val": [val or " " for _, _, val in self.filters],
            "where": self.where,
            "show": [] if self.columns == listing.columns else list(self.columns),
            "sort": self.order,
            "down": "1" if self.down else "",
            "page": self.page if self.page > 1 else "",
        }
        return address(listing.path + suffix, **{**parts, **changed})


def quoted(name: str) -> str:
    """Return a quoted column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def select(listing: TableView, asked: TableQuery, columns: Sequence[str]) -> tuple[str, list[Any]]:
    """Return the SQL of the rows, without order or limit, and its parameters."""
    conditions, parameters = [], []
    for word in asked.search.split()[:8]:
        parts = [f"CAST({quoted(name)} AS VARCHAR) ILIKE ?" for name in listing.searched]
        conditions.append(f"({' OR '.join(parts)})")
        parameters += [f"%{_literal(word)}%"] * len(parts)
    for column, operation, value in asked.filters:
        conditions.append(OPERATIONS[operation].replace("{}", quoted(column)))
        if operation != "is empty":
            contains = operation == "contains"
            parameters.append(f"%{_literal(value.strip())}%" if contains else value.strip())
    if asked.where:
        conditions.append(f"({asked.where}\n)")  # the line break ends a comment
    chosen = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    names = ", ".join(map(quoted, columns))
    return f"SELECT {names} FROM {listing.table}{chosen}", parameters  # noqa: S608


def _literal(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def ordered(listing: TableView, query: str, asked: TableQuery) -> str:
    """Return the query with its order; nulls are always last."""
    way = "DESC" if asked.down else "ASC"
    return f"{query} ORDER BY {quoted(asked.order)} {way} NULLS LAST, {quoted(listing.keys[0])}"


def known_columns(state: ServedState, listing: TableView) -> list[str]:
    """Return the existing columns of the table."""
    key = ("columns", listing.table, state.holdings())
    query = f"SELECT * FROM {listing.table} LIMIT 0"  # noqa: S608 - a fixed name
    return list(state.made.get(key, lambda: state.ask(query).table.column_names))


def ask(state: ServedState, asked: TableQuery, query: str, parameters: list[Any]) -> Answer:
    """Run a query; one with a user's own SQL has a user's limits."""
    if asked.where:
        return state.users.ask(state.holdings(), query, parameters, USERS)
    return state.ask(query, parameters, SqlLimits(MOST_DOWNLOAD, 120.0))
