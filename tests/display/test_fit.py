"""Tables in narrow terminals."""

from __future__ import annotations

import io
import re

import pytest
from rich.table import Table
from rich.text import Text

from graph_net.display.terminal import Terminal

NUMBER = re.compile(r"-?\d\.\d{3}…-?\d\.\d{3}|\d,\d{3},\d{3}")


def wide_table(rows: int, numbers: int) -> Table:
    table = Table(title="figures of compilers")
    table.add_column("compiler")
    table.add_column("graphs", justify="right")
    for number in range(numbers):
        table.add_column(f"figure{number}", justify="right")
    for row in range(rows):
        cells = [Text(f"{number}.{row}00\n-{number}.000…{number}.999") for number in range(numbers)]
        table.add_row(f"compiler-{row}[option=value]", f"1,234,56{row}", *cells)
    return table


def printed(table: Table, width: int) -> list[str]:
    file = io.StringIO()
    Terminal(width=width, file=file).print(table)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [160, 100, 80, 60, 40])
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_no_number_is_cut_at_any_width(width: int, rows: int) -> None:
    lines = printed(wide_table(rows, 9), width)
    assert max(map(len, lines)) <= width
    assert len(NUMBER.findall("\n".join(lines))) == 10 * rows


def test_a_table_that_fits_stays_as_it_is() -> None:
    lines = printed(wide_table(3, 2), 160)
    (header,) = [line for line in lines if "figure1" in line]
    assert "compiler" in header
    assert "graphs" in header


def test_one_that_does_not_fit_is_turned_on_its_side() -> None:
    lines = printed(wide_table(3, 9), 80)
    (header,) = [line for line in lines if "compiler-1" in line]
    assert "compiler-2" in header
    assert sum(line.startswith("│ figure") for line in lines) == 9


def test_long_texts_are_folded_and_not_cut() -> None:
    table = Table()
    table.add_column("name")
    table.add_column("count", justify="right")
    table.add_row("x" * 100, "1,234,567")
    lines = printed(table, 40)
    assert "".join(lines).count("x") == 100
    assert any("1,234,567" in line for line in lines)


def test_a_table_of_nothing_is_printed_too() -> None:
    assert "".join(printed(Table(), 40)).strip() == ""
