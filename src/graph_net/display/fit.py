"""Tables that fit the terminal: a text may be folded, a number is never cut.

A table that is too wide even so is turned on its side, a column for each row; where that is too
wide as well, its rows follow each other, a line for each value.
"""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

FEW = 20
"""A table of more rows is not turned: no terminal has so many columns."""
FOLDED = 16
"""A column of text is folded down to this width."""


def fit_table(table: Table, console: Console) -> Table:
    """The table, or one of the same values that is no wider than the console."""
    if _fits(table, console):
        return table
    if table.row_count <= FEW and _fits(turned := _turned(table), console):
        return turned
    return _listed(table)


def _fits(table: Table, console: Console) -> bool:
    """Whether a table can be drawn without a number cut; from now on it is drawn so."""
    needed = 1
    for column in table.columns:
        column.overflow = "fold"
        column.min_width = max(_needed(column, console), column.min_width or 0)
        needed += column.min_width + 3
    return needed <= console.width


def _needed(column: Column, console: Console) -> int:
    """The least width of a column: its numbers whole, its texts and its title folded."""
    title = Measurement.get(console, console.options, column.header)
    cells = [Measurement.get(console, console.options, cell) for cell in column.cells]
    if column.no_wrap or column.justify == "right":
        folded = max((cell.maximum for cell in cells), default=0)
    else:
        folded = min(max((cell.minimum for cell in cells), default=0), FOLDED)
    return max(min(title.minimum, FOLDED), folded)


def _turned(table: Table) -> Table:
    """A column for each row, named after its first cell."""
    first, *others = table.columns
    turned = Table(title=table.title, title_justify="left")
    turned.add_column(first.header, overflow="fold")
    for cell in first.cells:
        turned.add_column(cell, justify="right", overflow="fold")
    for column in others:
        turned.add_row(column.header, *column.cells)
    return turned


def _listed(table: Table) -> Table:
    """A line for each value."""
    first, *others = table.columns
    made = Table(title=table.title, title_justify="left", show_header=False)
    made.add_column(overflow="fold")
    made.add_column(justify="right", overflow="fold")
    rows = zip(*(column.cells for column in others), strict=True) if others else ()
    for name, cells in zip(first.cells, rows, strict=False):
        made.add_row(first.header, name)
        for column, cell in zip(others, cells, strict=True):
            made.add_row(column.header, _on_one_line(cell))
        made.add_section()
    return made


def _on_one_line(cell: RenderableType) -> RenderableType:
    return Text(" ").join(cell.split("\n")) if isinstance(cell, Text) else cell
