"""One run: the sections of the report, and its progress while it runs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from graph_net.report.page_data import data_of
from graph_net.report.page_failures import clusters_of
from graph_net.report.page_html import count_measurements, html_sections, sections_shown
from graph_net.report.page_programs import PagePrograms
from graph_net.report.page_rows import PageEntry
from graph_net.report.page_scores import Scores, scores_of
from graph_net.score import Parameters, find_interpretation
from graph_net.serve.commands import command, copied
from graph_net.serve.errors import ServeError
from graph_net.serve.holdings import Held, HeldKind
from graph_net.serve.live import RunProgress
from graph_net.serve.markup import Child, Html, link, tag
from graph_net.serve.shell import crumbs, data, heading, page
from graph_net.serve.state import ServedState

GRAPH_LINKS = "/graph?id="
NO_PROGRAMS = PagePrograms((), ())


def parameters_of(request: Request) -> Parameters:
    """Return the score parameters of an address."""
    query = request.query_params
    try:
        p, b = float(query.get("p", "0")), float(query.get("b", "0.1"))
    except ValueError as error:
        raise ServeError("p and b are numbers") from error
    return Parameters(p, b, find_interpretation(query.get("interpretation", "default")))


def run(state: ServedState, request: Request) -> Response:
    """Return the page of a run."""
    held = state.held(request.query_params.get("name", ""), HeldKind.RECORDS)
    parameters = parameters_of(request)
    key = ("run", held.path, held.signature, str(parameters))
    body = state.made.get(key, lambda: _body(state, held, parameters))
    return HTMLResponse(page(held.name, "/runs", *body, program="run"))


def _body(state: ServedState, held: Held, parameters: Parameters) -> list[Child]:
    entries = state.entries(held)
    scores = scores_of(entries, parameters)
    lines = [command("report", str(held.path)), command("score", str(held.path)),
             command("bisect", "--records", str(held.path))]  # fmt: skip
    title = heading(held.name, count_measurements(entries, scores) if entries else "Nothing yet. ",
                    link("as a table", "/records", col="run", op="=", val=held.name))  # fmt: skip
    live_ = tag("section", id="live", data_run=held.name, hidden=True)
    commands = tag("details", tag("summary", "Commands"), [copied(line) for line in lines])
    return [crumbs(("Runs", "/runs")), title, live_, commands,
            *sections(entries, scores, parameters)]  # fmt: skip


def sections(entries: list[PageEntry], scores: Scores, parameters: Parameters) -> list[Html]:
    """Return the sections of the report, and the data that its script draws."""
    shown = sections_shown(entries, NO_PROGRAMS)
    clusters = clusters_of(entries)
    made = html_sections(entries, scores, list(clusters.values()), parameters, shown, GRAPH_LINKS)
    links = tag("nav", [tag("a", text, href=f"#{name}") for name, text in shown.items()],
                class_="sections", aria_label="Sections")  # fmt: skip
    numbers = data_of(entries, scores, clusters, [], parameters) | {"links": GRAPH_LINKS}
    return [links, Html(made), data("data", numbers)]


def live(state: ServedState, request: Request) -> Response:
    """Return what a run has measured so far, from its journals."""
    held = state.held(request.query_params.get("run", ""), HeldKind.RECORDS)
    progress: Any = state.made.get(("live", held.path), lambda: RunProgress(held.path))
    return JSONResponse(progress.look())
