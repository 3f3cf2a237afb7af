"""A table of thousands of rows, printed a page at a time.

Rich lays out a whole table before it prints the first line, which is seconds of work for a corpus.
Here widths are fixed first and pages follow, so that ``| head`` ends it after one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment, Segments
from rich.table import Table

from graph_net.display.terminal import out
from graph_net.printable import printable

PAGE = 100
NARROW = 24
"""The least width of the first column."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A title, and the cell of a row under it."""

    title: str
    cell: Callable[[Mapping[str, Any]], str]
    number: bool = False


def print_long(columns: Sequence[TableColumn], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table; what does not fit on a line is folded in the first column."""
    cells = [[printable(column.cell(row)) for column in columns] for row in rows]
    widths = _widths(columns, cells)
    for start in range(0, max(len(cells), 1), PAGE):
        page = cells[start : start + PAGE]
        first, last = start == 0, start + PAGE >= len(cells)
        _print_page(_table(columns, widths, page, header=first), first, last)


def _widths(columns: Sequence[TableColumn], cells: list[list[str]]) -> list[int]:
    titles = [column.title for column in columns]
    natural = [max(map(cell_len, column)) for column in zip(titles, *cells, strict=True)]
    borders = 3 * len(columns) + 1
    room = out.width - borders - sum(natural[1:])
    return [min(natural[0], max(room, NARROW)), *natural[1:]]


def _table(
    columns: Sequence[TableColumn], widths: list[int], page: list[list[str]], header: bool
) -> Table:
    table = Table(show_header=header)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column.title, width=width, overflow="fold")
        table.columns[-1].justify = "right" if column.number else "left"
    for row in page:
        table.add_row(*row)
    return table


def _print_page(table: Table, first: bool, last: bool) -> None:
    """Print the lines of a page: the upper edge of the first one, the lower edge of the last."""
    drawn = out.render_lines(table, pad=False)
    lines = drawn[0 if first else 1 : None if last else -1]
    segments = chain.from_iterable((*line, Segment.line()) for line in lines)
    out.print(Segments(segments), end="")
