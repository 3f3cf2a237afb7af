"""The first page, and the list of runs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from graph_net.printable import count_phrase
from graph_net.serve.holdings import HeldKind
from graph_net.serve.live import is_running
from graph_net.serve.markup import Child, Html, link, table, tag
from graph_net.serve.shell import heading, page
from graph_net.serve.state import ServedState

_PACKS = """SELECT pack, count(*) AS graphs, sum(nodes) AS nodes, count(DISTINCT structure) AS
    structures, max(nodes) AS largest FROM graphs GROUP BY pack ORDER BY pack"""
_RUNS = """SELECT run, count(*) AS records, count(DISTINCT graph_id) AS graphs,
    string_agg(DISTINCT compiler, ', ' ORDER BY compiler) AS compilers,
    string_agg(DISTINCT device_name, ', ') AS devices, min(started) AS first, max(started) AS last,
    count(*) FILTER (symptom IS NOT NULL) AS failed FROM records GROUP BY run ORDER BY last DESC"""
_PROGRAMS = """SELECT run, count(*) AS programs, count(DISTINCT task) AS tasks,
    count(*) FILTER (status = 'failed') AS failed FROM programs GROUP BY run ORDER BY run"""


def overview(state: ServedState, request: Request) -> Response:
    """Return the overview of everything served."""
    body: list[Child] = [heading("Overview", "Everything is a measurement of a graph, under a "
                                 "configuration, on a device.")]  # fmt: skip
    holdings = state.holdings()
    if packs := holdings.of(HeldKind.PACK) and state.counted(HeldKind.PACK, _PACKS):
        body += [tag("h2", "Packs of graphs"), _packs(packs)]
    if holdings.of(HeldKind.RECORDS):
        body += [tag("h2", "Runs"), runs_table(state, _runs(state))]
    if programs := holdings.of(HeldKind.PROGRAMS) and state.counted(HeldKind.PROGRAMS, _PROGRAMS):
        body += [tag("h2", "Programs"), _programs(programs)]
    if models := holdings.of(HeldKind.MODEL):
        links = [tag("li", link(held.name, "/model", name=held.name)) for held in models]
        body += [tag("h2", "Cost models"), tag("ul", links)]
    if not holdings.items:
        body.append(tag("p", "These directories hold no packs, records, programs or models yet."))
    return HTMLResponse(page("Overview", "/", *body))


def _packs(rows: list[dict[str, Any]]) -> Html:
    names = ["pack", "graphs", "distinct structures", "nodes", "largest"]
    cells = [
        [link(row["pack"], "/graphs", col="pack", op="=", val=row["pack"]),
         *(f"{int(row[key]):,}" for key in ("graphs", "structures", "nodes", "largest"))]
        for row in rows
    ]  # fmt: skip
    return table(names, cells)


def _programs(rows: list[dict[str, Any]]) -> Html:
    cells = [
        [link(row["run"], "/tasks", run=row["run"]),
         *(f"{row[key]:,}" for key in ("tasks", "programs", "failed"))]
        for row in rows
    ]  # fmt: skip
    return table(["run", "tasks", "programs", "failed"], cells)


def _runs(state: ServedState) -> list[dict[str, Any]]:
    rows = state.counted(HeldKind.RECORDS, _RUNS)
    known = {row["run"] for row in rows}
    empty = [held for held in state.holdings().of(HeldKind.RECORDS) if held.name not in known]
    blank: dict[str, Any] = dict.fromkeys(rows[0] if rows else (), None)
    return rows + [{**blank, "run": held.name, "records": 0, "graphs": 0} for held in empty]


def runs_table(state: ServedState, rows: list[dict[str, Any]]) -> Html:
    """Return the runs, newest first, with a form to compare two."""
    paths = {held.name: held.path for held in state.holdings().of(HeldKind.RECORDS)}
    several = len(rows) > 1
    cells = []
    for place, row in enumerate(rows):
        name = row["run"]
        going = tag("b", " running", class_="running") if is_running(paths[name]) else None
        chosen = [_choice(side, name, place == 1 - number) for number, side in enumerate("ab")]
        when = " – ".join(dict.fromkeys((row.get(key) or "")[:16].replace("T", " ")
                                        for key in ("first", "last")))  # fmt: skip
        cells.append([
            [link(name, "/run", name=name), going], *([chosen] if several else []),
            f"{row['records']:,}", f"{row['graphs']:,}", f"{row.get('failed') or 0:,}",
            row.get("compilers") or "", row.get("devices") or "", when,
        ])  # fmt: skip
    names = ["run", *(["compare"] if several else []), "records", "graphs", "failed", "compilers",
             "device", "measured"]  # fmt: skip
    listed = table(names, cells, "runs")
    if not several:
        return listed
    button = tag("button", "Compare A with B", class_="plain")
    return tag("form", listed, tag("div", button, class_="controls"), method="get",
               action="/compare")  # fmt: skip


def _choice(side: str, name: str, chosen: bool) -> Html:
    box = tag("input", type="radio", name=side, value=name, required=True, checked=chosen)
    return tag("label", box, f" {side.upper()}")


def runs(state: ServedState, request: Request) -> Response:
    """Return all runs."""
    rows = _runs(state)
    body: list[Child] = [heading("Runs", count_phrase(len(rows), "directory", "directories"),
                                 " of records")]  # fmt: skip
    hint = "No records are served: graph-net bench makes some."
    body.append(runs_table(state, rows) if rows else tag("p", hint))
    return HTMLResponse(page("Runs", "/runs", *body))
