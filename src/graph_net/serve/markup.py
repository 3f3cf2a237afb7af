"""Build HTML from parts that escape themselves."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias
from urllib.parse import urlencode

from graph_net.printable import printable

VOID = frozenset({"input", "link", "meta", "wbr", "br", "hr"})


class Html(str):
    """Text that is markup already; any other text is escaped."""

    __slots__ = ()


Child: TypeAlias = "Html | str | int | float | Iterable[Child] | None"
Attribute: TypeAlias = str | int | bool | None


def join(*children: Child) -> Html:
    """Return the children concatenated; None is skipped."""
    return Html("".join(map(_text, children)))


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, (str, int, float)):
        return escape(printable(str(child), lines=True))
    return "".join(map(_text, child))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """Return an element; ``class_`` is class, ``data_name`` is data-name, False is omitted."""
    words = "".join(map(_attribute, attributes.items()))
    if name in VOID:
        return Html(f"<{name}{words}>")
    return Html(f"<{name}{words}>{join(*children)}</{name}>")


def _attribute(pair: tuple[str, Attribute]) -> str:
    key, value = pair
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape(printable(str(value), lines=True))}"'


def address(path: str, /, **parameters: object) -> str:
    """Return the address of a view; empty parameters are omitted, lists are repeated."""
    pairs = [
        (key.rstrip("_"), str(one))
        for key, value in parameters.items()
        for one in (value if isinstance(value, (list, tuple)) else [value])
        if one is not None and one != ""
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def link(text: Child, path: str, /, **parameters: object) -> Html:
    """Return a link to a view."""
    return tag("a", text, href=address(path, **parameters))


def table(names: Iterable[Child], rows: Iterable[Iterable[Child]], kind: str = "") -> Html:
    """Return a table; on a narrow screen a cell shows the name of its column."""
    heads = list(names)
    plain = [head if isinstance(head, str) and not isinstance(head, Html) else "" for head in heads]
    body = [
        tag("tr", [tag("td", cell, data_name=name) for name, cell in zip(plain, row, strict=True)])
        for row in rows
    ]
    head = tag("thead", tag("tr", [tag("th", name, scope="col") for name in heads]))
    return tag("div", tag("table", head, tag("tbody", body), class_=kind or None), class_="wide")


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Return names and values as a table of two columns; empty values are omitted."""
    rows = [tag("tr", tag("td", name), tag("td", value)) for name, value in pairs if value]
    return tag("table", tag("tbody", rows), class_="facts")
