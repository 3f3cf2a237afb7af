"""Tables that fit the terminal: a text may be folded, a number is never cut.

A table that is still too wide is transposed; if that is too wide as well, it becomes a list with a
line per value.
"""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

FEW = 20
"""The most rows of a table that is transposed."""
FOLDED = 16
"""The least width that a column of text is folded to."""


def fit_table(table: Table, console: Console) -> Table:
    """Return the table, or one of the same values that is no wider than the console."""
    if _fits(table, console):
        return table
    if table.row_count <= FEW and _fits(transposed := _transpose(table), console):
        return transposed
    return _list_values(table)


def _fits(table: Table, console: Console) -> bool:
    """Let a table's texts fold and return whether it then fits without a number cut."""
    needed = 1
    for column in table.columns:
        column.overflow = "fold"
        column.min_width = max(_least_width(column, console), column.min_width or 0)
        needed += column.min_width + 3
    return needed <= console.width


def _least_width(column: Column, console: Console) -> int:
    """Return the least width of a column: its numbers whole, its texts and title folded."""
    title = Measurement.get(console, console.options, column.header)
    cells = [Measurement.get(console, console.options, cell) for cell in column.cells]
    if column.no_wrap or column.justify == "right":
        folded = max((cell.maximum for cell in cells), default=0)
    else:
        folded = min(max((cell.minimum for cell in cells), default=0), FOLDED)
    return max(min(title.minimum, FOLDED), folded)


def _transpose(table: Table) -> Table:
    """Return a table with a column per row, named after its first cell."""
    first, *others = table.columns
    transposed = Table(title=table.title, title_justify="left")
    transposed.add_column(first.header, overflow="fold")
    for cell in first.cells:
        transposed.add_column(cell, justify="right", overflow="fold")
    for column in others:
        transposed.add_row(column.header, *column.cells)
    return transposed


def _list_values(table: Table) -> Table:
    """Return a table with a line per value."""
    first, *others = table.columns
    values = Table(title=table.title, title_justify="left", show_header=False)
    values.add_column(overflow="fold")
    values.add_column(justify="right", overflow="fold")
    rows = zip(*(column.cells for column in others), strict=True) if others else ()
    for name, cells in zip(first.cells, rows, strict=False):
        values.add_row(first.header, name)
        for column, cell in zip(others, cells, strict=True):
            values.add_row(column.header, _on_one_line(cell))
        values.add_section()
    return values


def _on_one_line(cell: RenderableType) -> RenderableType:
    return Text(" ").join(cell.split("\n")) if isinstance(cell, Text) else cell
