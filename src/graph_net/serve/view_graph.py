"""One graph: its facts, its drawing, and every measurement of it with raw samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from graph_net.printable import count_phrase, short_bytes, short_count
from graph_net.report.page_data import data_of
from graph_net.report.page_failures import clusters_of
from graph_net.report.page_rows import PageEntry
from graph_net.report.page_scores import scores_of
from graph_net.score import Parameters
from graph_net.serve.commands import copied, graph_commands
from graph_net.serve.errors import NotServed, ServeError
from graph_net.serve.holdings import Held
from graph_net.serve.markup import Child, Html, facts, link, table, tag
from graph_net.serve.node_facts import node_facts
from graph_net.serve.picture import GraphPictures, parse_open
from graph_net.serve.shell import crumbs, data, heading, page
from graph_net.serve.state import GraphPlace, ServedState

_ALIKE = """SELECT pack, name, id, nodes, tensor_bytes FROM graphs
    WHERE structure = ? AND NOT (name = ? AND pack = ?) ORDER BY name LIMIT 40"""
NOTE = (
    "Blocks are folded: click one to open it, click its frame to fold it again, click a call for "
    "its arguments. Drag to move, wheel to scale; on the drawing, Tab and Enter do the same. "
    "Filled: products, convolutions, look-ups; dashed: shape changes; thick: results."
)


def graph(state: ServedState, request: Request) -> Response:
    """Return the page of a graph; if no pack holds it, only its measurements."""
    query = request.query_params
    wanted = query.get("id", "")
    measured = state.entries_of_graph(wanted)
    try:
        stored = state.find_graph(wanted, query.get("pack", ""))
    except NotServed:
        if not measured:
            raise
        return HTMLResponse(page(measured[0][1].subject.name, "/graphs", *_alone(measured),
                                 program="graph"))  # fmt: skip
    measured = measured or state.entries_of_graph(stored.id)
    pictures = state.pictures(stored)
    first = picture_of(pictures, query.get("open", ""), query.get("at", ""))
    body: list[Child] = [
        crumbs(("Graphs", "/graphs")),
        heading(stored.name, _line(stored)),
        tag("section", tag("h2", "Drawing"), drawing_home("drawing-home", stored),
            tag("p", NOTE, class_="note")),
        tag("div", tag("section", tag("h2", "Facts"), _facts(stored)),
            tag("section", tag("h2", "The same structure"), _alike(state, stored)),
            class_="two"),
        *_measured(measured),
        _commands(stored, [entry for _, entry in measured]),
        data("picture", first),
    ]  # fmt: skip
    return HTMLResponse(page(stored.name, "/graphs", *body, program="graph"))


def _alone(measured: list[tuple[Held, PageEntry]]) -> list[Child]:
    subject = measured[0][1].subject
    return [
        crumbs(("Graphs", "/graphs")),
        heading(subject.name, subject.id),
        tag("p", "No pack that is served holds this graph, so it is not drawn.", class_="note"),
        *_measured(measured),
    ]


def drawing_home(name: str, stored: GraphPlace, **more: str) -> Html:
    """Return the element of a drawing, with the attributes that its script reads."""
    return tag("div", id=name, data_graph=stored.id, data_pack=stored.pack.name, **more)


def picture_of(pictures: GraphPictures, opened: str, at: str) -> dict[str, Any]:
    """Return a picture with these regions open, and those around a node."""
    regions = parse_open(opened)
    if at:
        if not at.isascii() or not at.isdecimal():
            raise ServeError(f"at={at[:20]!r} is not the number of a node")
        regions = {**pictures.path_to(int(at)), **regions}
    drawing = pictures.picture(regions)
    if at:
        boxes = [{**box, "at": True} if box.get("node") == int(at) else box
                 for box in drawing["boxes"]]  # fmt: skip
        drawing = {**drawing, "boxes": boxes}
    return drawing


def picture(state: ServedState, request: Request) -> Response:
    """Return a picture of a graph, with marks if it is compared with another."""
    query = request.query_params
    stored = state.find_graph(query.get("id", ""), query.get("pack", ""))
    pictures = state.pictures(stored)
    if query.get("other"):
        from graph_net.serve.view_diff import marked

        other = state.find_graph(query["other"], query.get("other_pack", ""))
        first = query.get("side", "0") == "0"
        pair = (stored, other) if first else (other, stored)
        one, two, _ = marked(state, *pair)
        pictures = one if first else two
    return JSONResponse(picture_of(pictures, query.get("open", ""), query.get("at", "")))


def node(state: ServedState, request: Request) -> Response:
    """Return one call of a graph in full."""
    query = request.query_params
    stored = state.find_graph(query.get("id", ""), query.get("pack", ""))
    number = query.get("node", "")
    if not number.isascii() or not number.isdecimal():
        raise ServeError(f"node={number[:20]!r} is not a number")
    return JSONResponse(node_facts(state.pictures(stored).graph, int(number)))


def _line(stored: GraphPlace) -> str:
    row = stored.row
    words = [row["library"], row["model"], row["category"], row["level"],
             count_phrase(row["nodes"], "node"), f"in {stored.pack.name}"]  # fmt: skip
    return " · ".join(dict.fromkeys(filter(None, words)))


def _facts(stored: GraphPlace) -> Html:
    row = stored.row
    numbers = {"nodes", "inputs", "symbols"}
    said = {
        "parameters": short_count(row["parameters"]),
        "tensor_bytes": short_bytes(row["tensor_bytes"]),
        "structure": tag("code", row["structure"]),
        "id": tag("code", row["id"]),
    }
    pairs: list[tuple[str, Child]] = []
    for name, value in row.items():
        if name in ("name", "pack"):
            continue
        shown: Child = said.get(name) or (f"{value:,}" if name in numbers else None)
        if shown is None and isinstance(value, list):
            shown = _listed(value)
        pairs.append((name.replace("_", " "), shown if shown is not None else value))
    return facts(pairs)


def _listed(values: list[Any]) -> Child:
    if len(values) <= 6:
        return ", ".join(map(str, values))
    whole = tag("p", ", ".join(map(str, values)))
    return tag("details", tag("summary", f"{len(values):,} different"), whole)


def _alike(state: ServedState, stored: GraphPlace) -> Html:
    """Return graphs with the same structure, each with a link to the differences."""
    rows = state.rows(_ALIKE, [stored.row["structure"], stored.name, stored.pack.name])
    form = tag(
        "form", tag("input", type="hidden", name="a", value=stored.id),
        tag("input", type="hidden", name="pa", value=stored.pack.name),
        tag("label", "Compare with ", tag("input", name="b", placeholder="id or name of a graph",
                                          required=True)),
        tag("button", "Compare", class_="plain"), method="get", action="/diff", class_="controls",
    )  # fmt: skip
    if not rows:
        return tag("div", tag("p", "No other graph that is served has it.", class_="note"), form)
    cells = [
        [link(row["name"], "/graph", id=row["id"], pack=row["pack"]),
         "the same sizes" if row["id"] == stored.id else short_bytes(row["tensor_bytes"]),
         link("compare", "/diff", a=stored.id, pa=stored.pack.name, b=row["id"], pb=row["pack"])]
        for row in rows
    ]  # fmt: skip
    return tag("div", table(["graph", "tensors", ""], cells), form)


def _measured(measured: list[tuple[Held, PageEntry]]) -> list[Html]:
    """Return the data of all measurements, which the report's script draws."""
    several = len({run.name for run, _ in measured}) > 1
    entries = [
        replace(entry, config=replace(entry.config, name=f"{run.name}: {entry.config.name}"))
        if several else entry
        for run, entry in measured
    ]  # fmt: skip
    parameters = Parameters()
    numbers = data_of(entries, scores_of(entries, parameters), clusters_of(entries), [], parameters)
    details = "\n".join(entry.detail for entry in entries)
    hint = None if entries else tag("p", "No run that is served has measured it.", class_="note")
    return [
        tag("section", tag("h2", "Measurements"), hint, tag("div", id="measurements")),
        data("data", numbers),
        Html(f'<script type="text/plain" id="details">{details}</script>'),  # lines of base64
    ]


def _commands(stored: GraphPlace, entries: list[PageEntry]) -> Html:
    compilers = list(dict.fromkeys(entry.config.label for entry in entries))[:6]
    device = entries[0].device.kind if entries else "cpu"
    lines = graph_commands(str(stored.pack.path), stored.id, (), device)
    lines += (
        graph_commands(str(stored.pack.path), stored.id, compilers, device) if compilers else []
    )
    return tag("section", tag("h2", "Commands"),
               tag("p", "Look at it, show what is wrong with it in one script, or find the "
                   "smallest subgraph that still shows it.", class_="note"),
               [copied(line) for line in lines], id="commands")  # fmt: skip
