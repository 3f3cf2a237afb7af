"""The frame of every page, and its assets."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from graph_net.report.page_assets import asset, embed_json, style
from graph_net.serve.markup import Child, Html, join, link, tag

PLACES = {
    "/": "Overview",
    "/graphs": "Graphs",
    "/runs": "Runs",
    "/records": "Records",
    "/tasks": "Tasks",
    "/models": "Models",
    "/sql": "SQL",
}
SHARED = ("dom.js", "base.js", "chart.js")
BUNDLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "page": ((), ("page.js",)),
    "run": (
        (*SHARED, "scores.js", "curves.js", "violin.js", "control.js", "table.js"),
        ("run.js",),
    ),
    "graph": ((*SHARED, "table.js", "paint.js", "view.js"), ("drawn.js", "graph.js")),
    "diff": (("dom.js", "paint.js"), ("drawn.js", "diff.js")),
    "tasks": ((*SHARED, "table.js", "programs.js"), ("tasks.js",)),
    "task": ((*SHARED, "table.js", "view.js", "programs.js", "task.js"), ("task.js",)),
}
"""Scripts by name: parts of the report's program, then those of this package."""


@cache
def script(name: str) -> str:
    """Return a script of the pages; raise KeyError if the name is unknown."""
    shared, own = BUNDLES[name]
    parts = [*(asset(part) for part in shared), *(_own(part) for part in own)]
    return f'(() => {{\n"use strict";\n{"".join(parts)}}})();\n'


@cache
def style_sheet() -> str:
    """Return the report's style and that of these pages."""
    return style() + _own("serve.css")


def _own(name: str) -> str:
    return (files("graph_net.serve") / "assets" / name).read_text("utf-8")


def data(name: str, value: object) -> Html:
    """Return data for a script; no text can break out of the element."""
    return Html(f'<script type="application/json" id="{name}">{embed_json(value)}</script>\n')


def page(title: str, here: str, *body: Child, program: str = "") -> str:
    """Return a whole page; ``here`` is the highlighted entry of the navigation."""
    links = [
        tag("a", text, href=path, aria_current="page" if path == here else None)
        for path, text in PLACES.items()
    ]
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · GraphNet"),
        tag("link", rel="icon", href="/assets/icon.svg"),
        tag("link", rel="stylesheet", href="/assets/style.css"),
        *(
            tag("script", src=f"/assets/{name}.js", defer=True)
            for name in ("page", program)
            if name
        ),
    )
    bar = tag(
        "div",
        tag("a", "GraphNet", href="/", class_="brand"),
        tag("nav", links, aria_label="Places"),
        tag("button", "?", id="keys", type="button", class_="plain", title="Keys"),
        class_="bar",
    )
    whole = tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        bar,
        tag("main", *body, id="main", tabindex="-1"),
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n{whole}\n</html>\n'


def heading(title: Child, *below: Child) -> Html:
    """Return the heading of a page, and a line below it."""
    return tag("header", tag("h1", title), tag("p", *below) if below else None)


def crumbs(*steps: tuple[str, str]) -> Html:
    """Return a breadcrumb trail of links."""
    return tag("p", [[link(text, path), " / "] for text, path in steps], class_="crumbs")
