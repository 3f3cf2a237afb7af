"""The terminal of the command line, safe for untrusted text.

Names, messages and provenance come from files that anybody may have written. A printed string, in
a table or alone, is not markup and is one line; invisible characters are escaped. Colours are
styles and ``Text``, never markup; use ``lines`` for several lines.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from graph_net.display.fit import fit_table
from graph_net.printable import printable

HIGHLIGHTED = 2000
"""The longest text in which numbers and paths are coloured; rich needs quadratic time."""


class Terminal(Console):
    """A console that prints untrusted text safely."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print; a table fits, without a number cut."""
        fitted = [fit_table(item, self) if isinstance(item, Table) else item for item in objects]
        super().print(*fitted, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a string as one line of text; rich calls this for all that is not ``Text``."""
        plain: dict[str, Any] = {"markup": False, "emoji": False}
        if len(text) > HIGHLIGHTED:
            plain |= {"highlight": False, "highlighter": None}
        return super().render_str(printable(text), **how | plain)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is drawn, without control characters but those of rich."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, lines=True), style, control)


def new_table(*columns: str, title: str | None = None, numbers: Collection[str] = ()) -> Table:
    """Return an empty table; the columns named in ``numbers`` are right-justified."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left")
    return table


WIDE = 160
"""Columns without a terminal: in a pipe, a file, a log."""

out = Terminal(width=None if sys.stdout.isatty() else WIDE)
err = Terminal(stderr=True, width=None if sys.stderr.isatty() else WIDE)


def lines(text: str, style: str = "") -> Text:
    """Return text of several lines, to print or to put into a cell."""
    return Text(printable(text, lines=True), style)
