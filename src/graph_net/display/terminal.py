"""The terminal of the command line: text is shown as it is and does nothing.

Names, messages and provenance come from files that anybody may have written. A string that is
printed, in a table or alone, is no markup and one line: what cannot be seen in it is written out.
Colours are styles and ``Text``, never markup; several lines are ``lines``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from graph_net.display.fit import fit_table
from graph_net.printable import printable

HIGHLIGHTED = 2000
"""Letters of a text in which numbers and paths are coloured; rich takes the square of it."""


class Terminal(Console):
    """A console on which text of any origin can be printed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print; a table fits, without a number cut."""
        shown = [fit_table(one, self) if isinstance(one, Table) else one for one in objects]
        super().print(*shown, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """The text of a string, one line; rich asks here for whatever is not ``Text`` yet."""
        plain: dict[str, Any] = {"markup": False, "emoji": False}
        if len(text) > HIGHLIGHTED:
            plain |= {"highlight": False, "highlighter": None}
        return super().render_str(printable(text), **how | plain)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is drawn, with nothing in it that a terminal would obey but what rich put there."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, lines=True), style, control)


WIDE = 160
"""Columns where no terminal says how many it has: a pipe, a file, a log."""

out = Terminal(width=None if sys.stdout.isatty() else WIDE)
err = Terminal(stderr=True, width=None if sys.stderr.isatty() else WIDE)


def lines(text: str, style: str = "") -> Text:
    """Text of several lines to print, or to put into a cell."""
    return Text(printable(text, lines=True), style)
