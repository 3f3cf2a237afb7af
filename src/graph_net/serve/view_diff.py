"""Two graphs side by side, with their differences."""

from __future__ import annotations

from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from graph_net.printable import count_phrase
from graph_net.serve.diff import GraphDiff, describe
from graph_net.serve.markup import Child, Html, address, link, table, tag
from graph_net.serve.picture import GraphPictures
from graph_net.serve.shell import crumbs, data, heading, page
from graph_net.serve.state import GraphPlace, ServedState
from graph_net.serve.view_graph import drawing_home, picture_of

SHOWN = 200


def marked(
    state: ServedState, first: GraphPlace, second: GraphPlace
) -> tuple[GraphPictures, GraphPictures, GraphDiff]:
    """Return the pictures of two graphs with their differences marked."""

    def make() -> tuple[GraphPictures, GraphPictures, GraphDiff]:
        one, other = (state.pictures(place).graph for place in (first, second))
        found = GraphDiff.of(one, other)
        return GraphPictures(one, found.marks(0)), GraphPictures(other, found.marks(1)), found

    key = ("diff", *((p.pack.path, p.name, p.pack.signature) for p in (first, second)))
    made: tuple[GraphPictures, GraphPictures, GraphDiff] = state.made.get(key, make)
    return made


def diff(state: ServedState, request: Request) -> Response:
    """Return the page of two graphs, ``a`` and ``b``."""
    query = request.query_params
    first = state.find_graph(query.get("a", ""), query.get("pa", ""))
    second = state.find_graph(query.get("b", ""), query.get("pb", ""))
    one, other, found = marked(state, first, second)
    body: list[Child] = [
        crumbs(("Graphs", "/graphs")),
        heading([link(first.name, "/graph", id=first.id, pack=first.pack.name), " ↔ ",
                 link(second.name, "/graph", id=second.id, pack=second.pack.name)],
                _sentence(found)),
        tag("div", *(
            tag("div", tag("h2", place.name), drawing_home(
                f"drawing-{side}", place, data_other=beside.id, data_other_pack=beside.pack.name,
                data_side=str(number)))
            for number, (side, place, beside) in enumerate(
                (("a", first, second), ("b", second, first)))), class_="beside"),
        tag("p", "Outlined: calls that are not the same; filled: calls of one alone.",
            class_="note"),
        _facts(first, second),
        _operators(found),
        _differences(found, first, second),
        data("picture-a", picture_of(one, query.get("open_a", ""), query.get("at_a", ""))),
        data("picture-b", picture_of(other, query.get("open_b", ""), query.get("at_b", ""))),
    ]  # fmt: skip
    title = f"{first.name} ↔ {second.name}"
    return HTMLResponse(page(title, "/graphs", *body, program="diff"))


def _sentence(found: GraphDiff) -> str:
    if found.is_equal:
        return "One graph: the same calls, sizes and dtypes; names may differ."
    if not found.differences:
        return "The same calls in the same order; inputs or outputs differ."
    same = len(found.pairs) - sum(
        one.first is not None and one.second is not None for one in found.differences
    )
    kinds = "; ".join(f"{count:,} {what}" for what, count in islice(found.kinds.items(), 6))
    return f"{count_phrase(same, 'call')} the same in both. {kinds}."


def _facts(first: GraphPlace, second: GraphPlace) -> Html:
    rows: list[list[Child]] = []
    for name, value in first.row.items():
        other = second.row.get(name)
        if value != other and name not in ("name", "operators"):
            rows.append([name.replace("_", " "), _text(value), _text(other)])
    body = table(["", "first", "second"], rows, "left") if rows else tag("p", "Nothing.")
    return tag("section", tag("h2", "Facts that differ"), body)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value[:12])) + (" …" if len(value) > 12 else "")
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def _operators(found: GraphDiff) -> Html | None:
    if not found.operators:
        return None
    rows = [
        [tag("code", name), f"{one:,}", f"{other:,}", f"{other - one:+,}".replace("-", "−")]
        for name, one, other in found.operators[:SHOWN]
    ]
    return tag("section", tag("h2", "Operators"),
               table(["operator", "first", "second", "difference"], rows))  # fmt: skip


def _differences(found: GraphDiff, first: GraphPlace, second: GraphPlace) -> Html | None:
    if not found.differences:
        return None
    rows: list[list[Child]] = []
    for one in found.differences[:SHOWN]:
        to = address("/diff", a=first.id, pa=first.pack.name, b=second.id, pb=second.pack.name,
                     at_a=one.first, at_b=one.second)  # fmt: skip
        rows.append([tag("a", one.what, href=to), describe(found.first, one.first),
                     describe(found.second, one.second)])  # fmt: skip
    more = len(found.differences) - len(rows)
    note = tag("p", f"{more:,} more.", class_="note") if more else None
    return tag("section", tag("h2", "Calls that differ"),
               table(["what", "first", "second"], rows, "differences"), note)  # fmt: skip
