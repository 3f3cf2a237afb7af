"""Tasks and their programs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from graph_net.printable import count_phrase
from graph_net.report.page_data import data_of
from graph_net.report.page_programs import programs_data, read_programs, read_task
from graph_net.report.page_scores import scores_of
from graph_net.score import Parameters
from graph_net.serve.commands import command, copied
from graph_net.serve.holdings import Held, HeldKind
from graph_net.serve.markup import Child, Html, address, link, table, tag
from graph_net.serve.shell import crumbs, data, heading, page
from graph_net.serve.state import ServedState
from graph_net.serve.task_process import read_in_process


def tasks(state: ServedState, request: Request) -> Response:
    """Return the tasks of a run; without a run, the runs that have tasks."""
    runs = state.holdings().of(HeldKind.PROGRAMS)
    name = request.query_params.get("run", runs[0].name if len(runs) == 1 else "")
    if not name:
        return HTMLResponse(page("Tasks", "/tasks", heading("Tasks"), _runs(runs)))
    held = state.held(name, HeldKind.PROGRAMS)
    key = ("tasks", held.path, held.signature)
    programs: Any = state.made.get(key, lambda: programs_data(read_programs(held.path, 0)))
    total = sum(programs["programs"])
    body: list[Child] = [
        crumbs(("Tasks", "/tasks")) if len(runs) > 1 else None,
        heading(f"Tasks of {held.name}", count_phrase(len(programs["task"]), "task"), ", ",
                link(count_phrase(total, "program"), "/programs", col="run", op="=", val=name)),
        tag("section", id="programs"),
        data("data", _empty() | {"programs": programs,
                                 "task_links": address("/task", run=name) + "&id="}),
    ]  # fmt: skip
    return HTMLResponse(page("Tasks", "/tasks", *body, program="tasks"))


def _runs(runs: list[Held]) -> Html:
    if not runs:
        return tag("p", "No programs are served: graph-net programs collect measures some, "
                   "graph-net ingest takes in a tuner's.")  # fmt: skip
    return table(["run"], [[link(held.name, "/tasks", run=held.name)] for held in runs])


def _empty() -> dict[str, Any]:
    """Return the data of a page without records."""
    return data_of([], scores_of([], Parameters()), {}, [], Parameters())


def task(state: ServedState, request: Request) -> Response:
    """Return the page of one task; its code is loaded later, since a compiler writes it."""
    query = request.query_params
    held = state.held(query.get("run", ""), HeldKind.PROGRAMS)
    found = read_task(held.path, query.get("id", ""), code=False)
    summary = found.tasks[0].summary
    back = address("/tasks", run=held.name)
    listed = address("/programs", col=["run", "task"], op=["=", "="], val=[held.name, summary.task])
    body: list[Child] = [
        tag("article", id="view", data_task=summary.task, data_run=held.name),
        tag("p", "The programs as code are being written …", id="writing", class_="note",
            role="status"),
        tag("section", tag("h2", "Programs"),
            tag("p", tag("a", "Every program of this task", href=listed),
                ", to filter, sort and download."),
            copied(command("programs", "show", summary.task, "--records", str(held.path)))),
        data("data", _empty() | {"programs": programs_data(found), "back": back}),
        Html(f'<script type="text/plain" id="tasks">{found.details[0]}</script>'),  # base64
    ]  # fmt: skip
    return HTMLResponse(page(summary.name, "/tasks", *body, program="task"))


def task_code(state: ServedState, request: Request) -> Response:
    """Return the details of a task with its programs as code."""
    query = request.query_params
    held = state.held(query.get("run", ""), HeldKind.PROGRAMS)
    wanted = query.get("id", "")
    key = ("task", held.path, held.signature, wanted)
    found: Any = state.made.get(key, lambda: read_in_process(held.path, wanted))
    return JSONResponse(found["details"])
