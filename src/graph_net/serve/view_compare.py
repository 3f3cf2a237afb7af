"""Two runs on one page: what changed, and the curves of both."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from graph_net.compare import Change, Comparison, Row, compare
from graph_net.printable import count_phrase
from graph_net.report.page_data import data_of
from graph_net.report.page_failures import clusters_of
from graph_net.report.page_rows import PageEntry
from graph_net.report.page_scores import scores_of
from graph_net.score import Parameters
from graph_net.serve.commands import command, copied
from graph_net.serve.holdings import Held, HeldKind
from graph_net.serve.listing_html import broken
from graph_net.serve.markup import Child, Html, address, link, table, tag
from graph_net.serve.shell import crumbs, data, heading, page
from graph_net.serve.state import ServedState
from graph_net.serve.view_run import GRAPH_LINKS

SHOWN = 300
WORDS = {change.word.replace(" ", "-"): change for change in Change}


def compare_runs(state: ServedState, request: Request) -> Response:
    """Return the comparison of runs ``a`` and ``b``."""
    query = request.query_params
    first, second = (state.held(query.get(side, ""), HeldKind.RECORDS) for side in "ab")
    key = ("compare", first.path, first.signature, second.path, second.signature)
    found: Comparison = state.made.get(key, lambda: compare(first.path, second.path))
    body: list[Child] = [
        crumbs(("Runs", "/runs")),
        heading([first.name, " → ", second.name], _sentence(found)),
        copied(command("compare", str(first.path), str(second.path))),
        _counts(found, first, second, query.get("change", "")),
        _rows(found, query.get("change", "")),
        *_curves(state, first, second),
    ]
    title = f"{first.name} → {second.name}"
    return HTMLResponse(page(title, "/runs", *body, program="run"))


def _sentence(found: Comparison) -> str:
    alone = found.pairs.only_first, found.pairs.only_second
    said = f"{count_phrase(len(found), 'measurement')} of both; {found.regressions:,} regressed"
    if any(alone):
        said += f". {alone[0]:,} are in A alone, {alone[1]:,} in B alone"
    limit, rate = found.settings.threshold, found.settings.fdr
    return f"{said}. From a factor of {limit:g} on, at a false discovery rate of {rate:.0%}."


def _counts(found: Comparison, first: Held, second: Held, chosen: str) -> Html:
    links = []
    for word, change in WORDS.items():
        if found.count(change):
            text = f"{found.count(change):,} {change.word}"
            to = address("/compare", a=first.name, b=second.name, change=word)
            current = "true" if word == chosen else None
            links.append(tag("a", text, href=to, aria_current=current, class_=f"chip {word}"))
    everything = link("all", "/compare", a=first.name, b=second.name) if chosen else None
    return tag("nav", links, everything, class_="chips", aria_label="Changes")


def _rows(found: Comparison, chosen: str) -> Html:
    order = found.order()
    if chosen in WORDS:
        order = order[found.judged.change[order] == WORDS[chosen]]
    rows = found.rows(order[:SHOWN])
    names = ["graph", "compiler", "change", "B / A", "interval", "A", "B", "why"]
    note = (
        tag("p", f"The first {SHOWN} of {len(order):,}; graph-net compare has all.", class_="note")
        if len(order) > SHOWN
        else None
    )
    return tag("div", table(names, map(_cells, rows), "changes"), note)


def _cells(row: Row) -> list[Child]:
    kind = row.change.word.replace(" ", "-")
    interval = "" if row.low is None or row.high is None else f"{row.low:.3f} … {row.high:.3f}"
    return [
        link(broken(row.graph), "/graph", id=row.id), row.compiler,
        tag("span", row.change.word, class_=f"change {kind}"), _times(row.ratio), interval,
        _times(row.speedups[0]), _times(row.speedups[1]), row.sentence,
    ]  # fmt: skip


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}×"


def _curves(state: ServedState, first: Held, second: Held) -> list[Html]:
    """Return the curves of both runs, each compiler with the letter of its run."""
    parameters = Parameters()
    entries = [
        _named(entry, side)
        for side, held in (("A", first), ("B", second))
        for entry in state.entries(held)
    ]
    scores = scores_of(entries, parameters)
    groups = [tag("section", tag("h2", text), id=name)
              for name, text in (("curves", "Curves"), ("speedups", "Speedups"))]  # fmt: skip
    numbers = data_of(entries, scores, clusters_of(entries), [], parameters)
    return [*groups, data("data", numbers | {"links": GRAPH_LINKS})]


def _named(entry: PageEntry, side: str) -> PageEntry:
    return replace(entry, config=replace(entry.config, name=f"{side}: {entry.config.name}"))
