"""Convert the Markdown of model cards to HTML: headings, tables, code and paragraphs only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from graph_net.serve.markup import Child, Html, join, table, tag

_CODE = re.compile(r"`([^`]+)`")


def to_html(text: str) -> Html:
    """Return a card as HTML; links and markup in it stay text."""
    return join(*_blocks(text.splitlines()))


def _blocks(lines: list[str]) -> Iterator[Child]:
    for kind, group in groupby(lines, _kind):
        block = list(group)
        if kind == "heading":
            for line in block:
                depth = min(4, len(line) - len(line.lstrip("#")) + 1)
                yield tag(f"h{depth}", _inline(line.lstrip("# ")))
        elif kind == "table":
            yield _table(block)
        elif kind == "code":
            yield tag("pre", "\n".join(line[4:] for line in block), class_="code")
        elif kind == "list":
            yield tag("ul", [tag("li", _inline(line[2:])) for line in block])
        elif kind == "text":
            yield tag("p", _inline(" ".join(block)))


def _kind(line: str) -> str:
    if not line.strip():
        return "nothing"
    for start, kind in (("#", "heading"), ("|", "table"), ("    ", "code"), ("- ", "list")):
        if line.startswith(start):
            return kind
    return "text"


def _table(lines: list[str]) -> Html:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head, *body = [
        row for row in rows if not all(set(cell) <= {"-", ":"} for cell in row) or not any(row)
    ]
    wide = max(len(row) for row in [head, *body])
    cells = [[_inline(cell) for cell in [*row, *[""] * (wide - len(row))]] for row in body]
    names: list[Child] = [*head, *[""] * (wide - len(head))]
    return table(names, cells, "" if any(head) else "facts")


def _inline(text: str) -> Html:
    parts: list[Child] = []
    for place, part in enumerate(_CODE.split(text)):
        parts.append(tag("code", part) if place % 2 else part)
    return join(*parts)
