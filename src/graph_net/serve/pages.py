"""The pages and their addresses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from graph_net.corpus.pack import NoGraph
from graph_net.printable import first_line
from graph_net.serve import (
    view_compare,
    view_diff,
    view_graph,
    view_models,
    view_overview,
    view_run,
    view_tables,
    view_tasks,
)
from graph_net.serve.errors import NotServed
from graph_net.serve.markup import tag
from graph_net.serve.shell import BUNDLES, heading, page, script, style_sheet
from graph_net.serve.state import ServedState

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><g fill="none" stroke="#0072b2" '
    'stroke-width="1.6"><path d="M8 4v3M8 7L4 11M8 7l4 4"/><circle cx="8" cy="3" r="2"/>'
    '<circle cx="3.5" cy="12.5" r="2"/><circle cx="12.5" cy="12.5" r="2"/></g></svg>'
)
View: TypeAlias = Callable[[ServedState, Request], Response]
VIEWS: dict[str, View] = {
    "/": view_overview.overview,
    "/runs": view_overview.runs,
    "/run": view_run.run,
    "/live.json": view_run.live,
    "/compare": view_compare.compare_runs,
    "/graph": view_graph.graph,
    "/picture.json": view_graph.picture,
    "/node.json": view_graph.node,
    "/diff": view_diff.diff,
    "/tasks": view_tasks.tasks,
    "/task": view_tasks.task,
    "/task.json": view_tasks.task_code,
    "/models": view_models.models,
    "/model": view_models.model,
    "/sql": view_tables.sql,
    "/sql.{kind}": view_tables.download_sql,
    "/{table:str}.{kind}": view_tables.download,
    **{f"/{name}": view_tables.listing for name in view_tables.TABLES},
}
"""Handlers by address, in the order in which they are matched."""


class Pages:
    """All pages over some directories."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.state = ServedState([root.resolve() for root in roots])
        self.state.holdings()  # fails at once for a directory that does not exist
        threading.Thread(target=self._warm, daemon=True).start()

    def application(self) -> Starlette:
        """Return the application, without access control (see ``guard``)."""
        routes = [Route(path, self._answer(view), methods=["GET"]) for path, view in VIEWS.items()]
        return Starlette(routes=[Route("/assets/{name}", _asset, methods=["GET"]), *routes])

    def close(self) -> None:
        """Stop the processes of the pages."""
        self.state.close()

    def _warm(self) -> None:
        with suppress(ValueError):  # raised again by the page that needs it
            self.state.ask("SELECT count(*) FROM graphs")

    def _answer(self, view: View) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                return view(self.state, request)
            except (ValueError, OSError) as error:
                missing = isinstance(error, (NotServed, NoGraph))
                return _failed(404 if missing else 400, first_line(error, 2_000))

        return answer


def _failed(status: int, sentence: str) -> Response:
    title = "Not here" if status == 404 else "That cannot be shown"
    body = [heading(title), tag("p", sentence, class_="warning", role="alert")]
    return HTMLResponse(page(title, "", *body), status)


def _asset(request: Request) -> Response:
    name, _, kind = request.path_params["name"].rpartition(".")
    if kind == "js" and name in BUNDLES:
        return Response(script(name), media_type="text/javascript")
    if (name, kind) == ("style", "css"):
        return Response(style_sheet(), media_type="text/css")
    if (name, kind) == ("icon", "svg"):
        return Response(ICON, media_type="image/svg+xml")
    return PlainTextResponse("there is no such file\n", 404)
