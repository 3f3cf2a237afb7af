"""Graphs, records and programs as tables; SQL; both as downloads."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from graph_net.printable import count_phrase
from graph_net.serve.ask_sql import Answer, SqlLimits
from graph_net.serve.commands import command, copied
from graph_net.serve.download import TYPES, to_file
from graph_net.serve.errors import NotServed, ServeError
from graph_net.serve.listing import (
    MOST_DOWNLOAD,
    TableQuery,
    TableView,
    ask,
    known_columns,
    ordered,
    select,
)
from graph_net.serve.listing_html import answer_table, broken, downloads, listing_body
from graph_net.serve.markup import Child, Html, address, link, tag
from graph_net.serve.shell import heading, page
from graph_net.serve.state import ServedState
from graph_net.serve.tables import SOURCES
from graph_net.store.sql import SqlError

SHOWN = SqlLimits(rows=500, seconds=10.0)
EXAMPLES = (
    "SELECT category, count(*) AS graphs, median(nodes) AS nodes FROM graphs GROUP BY category "
    "ORDER BY graphs DESC",
    "SELECT compiler, symptom, count(*) AS n FROM records WHERE symptom IS NOT NULL GROUP BY ALL "
    "ORDER BY n DESC",
    "SELECT run, kernel, count(*) AS programs, min(cost) AS best FROM programs GROUP BY ALL "
    "ORDER BY programs DESC",
)


def _graph_cell(name: str, row: dict[str, Any]) -> Child | None:
    if name == "name":
        return link(broken(row["name"]), "/graph", id=row["id"], pack=row["pack"])
    if name == "structure":
        return link(row["structure"][:12], "/graphs", col="structure", op="=", val=row["structure"])
    return row["id"][:12] if name == "id" else None


def _record_cell(name: str, row: dict[str, Any]) -> Child | None:
    if name == "graph":
        return link(broken(row["graph"] or ""), "/graph", id=row["graph_id"])
    if name == "run":
        return link(row["run"], "/run", name=row["run"])
    if name == "verdict" and row.get("verdict"):
        return tag("span", row["verdict"], class_=f"verdict-{row['verdict']}")
    return None


def _program_cell(name: str, row: dict[str, Any]) -> Child | None:
    if name in ("task", "kernel"):
        text = row["task"][:12] if name == "task" else row["kernel"] or row["task"][:12]
        return link(broken(text), "/task", run=row["run"], id=row["task"])
    return None


TABLES = {
    "graphs": TableView(
        "graphs", "graph",
        ("name", "pack", "library", "category", "level", "nodes", "parameters", "dtypes"),
        ("name", "model", "library"), ("name", "id", "pack", "structure"), "pack", _graph_cell,
    ),
    "records": TableView(
        "records", "record",
        ("graph", "compiler", "run", "speedup", "speedup_low", "speedup_high", "verdict", "symptom",
         "t", "cold_seconds"),
        ("graph", "compiler", "message"), ("graph", "graph_id", "run"), "graph", _record_cell,
    ),
    "programs": TableView(
        "programs", "program",
        ("kernel", "run", "program", "cost", "status", "symptom", "device_name"),
        ("kernel", "task", "workload"), ("task", "run", "kernel"), "cost", _program_cell,
    ),
}  # fmt: skip


def listing(state: ServedState, request: Request) -> Response:
    """Return the page of a table."""
    view = TABLES[request.url.path.strip("/")]
    title = view.table.capitalize()
    body: list[Child] = [heading(title), _chips(state, view)]
    try:
        body += listing_body(state, view, request.query_params)
    except SqlError as error:
        return HTMLResponse(_refused(view, str(error), known_columns(state, view)), 400)
    return HTMLResponse(page(title, view.path if view.table != "programs" else "/tasks", *body))


def _chips(state: ServedState, view: TableView) -> Html | None:
    """Return links to the rows of each pack or run."""
    column, kind = SOURCES[view.table]
    held = state.holdings().of(kind)
    links = [
        tag("a", one.name, href=address(view.path, col=column, op="=", val=one.name), class_="chip")
        for one in held[:20]
    ]
    return tag("nav", links, class_="chips", aria_label=f"Each {column}") if len(held) > 1 else None


def _refused(view: TableView, why: str, known: list[str]) -> str:
    title = view.table.capitalize()
    return page(
        title, view.path, heading(title), tag("p", why, class_="warning", role="alert"),
        tag("p", "Columns: ", ", ".join(known)), tag("p", link("All of them", view.path)),
    )  # fmt: skip


def download(state: ServedState, request: Request) -> Response:
    """Return all rows of a table's page as a file."""
    name, kind = request.path_params["table"], request.path_params["kind"]
    if name not in TABLES or kind not in TYPES:
        raise NotServed(f"there is no {name}.{kind}")
    view = TABLES[name]
    known = known_columns(state, view)
    asked = TableQuery.of(request.query_params, view, known)
    query, parameters = select(view, asked, known)
    return _file(ask(state, asked, ordered(view, query, asked), parameters), name, kind)


def _file(answer: Answer, name: str, kind: str) -> Response:
    if answer.more:
        raise ServeError(f"more than {MOST_DOWNLOAD:,} rows; filter them, or ask for a LIMIT")
    there = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(to_file(answer.table, kind), media_type=TYPES[kind], headers=there)


def sql(state: ServedState, request: Request) -> Response:
    """Return the page of an SQL query, with its result."""
    query = request.query_params.get("q", "").strip()
    body: list[Child] = [
        heading("SQL", "One SELECT in DuckDB's SQL over ",
                [[tag("code", name), ", "] for name in SOURCES][:-1], " and ", tag("code", "tasks"),
                f": at most {SHOWN.rows:,} rows and {SHOWN.seconds:g} s."),
        _form(query),
    ]  # fmt: skip
    status = 200
    if query:
        try:
            body += _answer(state.users.ask(state.holdings(), query, (), SHOWN), query)
        except SqlError as error:
            body.append(tag("p", str(error), class_="warning", role="alert"))
            status = 400
    else:
        body += [tag("h2", "Examples"), tag("ul", [
            tag("li", link(tag("code", text), "/sql", q=text)) for text in EXAMPLES])]  # fmt: skip
    body.append(_columns(state))
    return HTMLResponse(page("SQL", "/sql", *body), status)


def _form(query: str) -> Html:
    area = tag("textarea", query, name="q", rows="5", spellcheck="false", class_="sql",
               aria_label="A question in SQL", id="sql")  # fmt: skip
    below = tag("div", tag("button", "Ask", class_="plain"),
                tag("small", "Ctrl + Enter"), class_="controls")  # fmt: skip
    return tag("form", area, below, method="get", action="/sql")


def _answer(answer: Answer, query: str) -> list[Html | None]:
    rows = answer.table.num_rows
    count = f"the first {count_phrase(rows, 'row')}" if answer.more else count_phrase(rows, "row")
    to = [address(f"/sql.{kind}", q=query) for kind in TYPES]
    status = tag("span", f"{count}, {answer.seconds:.2f} s", role="status", id="found")
    return [tag("div", status, downloads(*to), class_="controls"), answer_table(answer.table)]


def _columns(state: ServedState) -> Html:
    """Return every table with its columns, and the command for querying without a browser."""
    parts = []
    for name in SOURCES:
        view = TABLES.get(name)
        table = view or TableView(name, name, (), (), (), "", lambda _, __: None)
        parts.append(tag("details", tag("summary", tag("code", name)),
                         tag("p", ", ".join(known_columns(state, table)))))  # fmt: skip
    return tag("section", tag("h2", "Tables"), parts,
               copied(command("query", "RECORDS", "SELECT count(*) FROM records")))  # fmt: skip


def download_sql(state: ServedState, request: Request) -> Response:
    """Return the whole result of a query as a file."""
    kind = request.path_params["kind"]
    if kind not in TYPES:
        raise NotServed(f"there is no sql.{kind}")
    limits = SqlLimits(MOST_DOWNLOAD, SHOWN.seconds)
    query = request.query_params.get("q", "")
    return _file(state.users.ask(state.holdings(), query, (), limits), "answer", kind)
