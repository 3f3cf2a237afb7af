"""A long table, printed in pages."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from graph_net.cli import long_table
from graph_net.cli.long_table import PAGE, TableColumn, print_long
from graph_net.display.terminal import Terminal

COLUMNS = (
    TableColumn("name", lambda row: row["name"]),
    TableColumn("nodes", lambda row: f"{row['nodes']:,}", number=True),
)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], list[str]]:
    """The lines of a table of so many rows on a terminal of so many columns."""

    def lines(count: int, width: int) -> list[str]:
        file = io.StringIO()
        monkeypatch.setattr(long_table, "out", Terminal(width=width, file=file))
        names = ("a/" + "long-" * 8 + str(number) for number in range(count))
        print_long(COLUMNS, [{"name": name, "nodes": 1000 * len(name)} for name in names])
        return file.getvalue().splitlines()

    return lines


@pytest.mark.parametrize("count", [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])
def test_pages_are_one_table(printed: Callable[[int, int], list[str]], count: int) -> None:
    lines = printed(count, 100)
    assert len({len(line) for line in lines}) == 1
    assert "".join(line[0] for line in lines) == "┏┃┡" + "│" * count + "└"


def test_a_narrow_terminal_folds_names_and_cuts_no_number(
    printed: Callable[[int, int], list[str]],
) -> None:
    lines = printed(PAGE + 5, 40)
    assert max(map(len, lines)) <= 40
    text = "".join(lines)
    assert text.count("43,000") == 10
    assert "…" not in text


def test_what_reads_only_the_beginning_stops_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    class Head(io.StringIO):
        pages = 0

        def write(self, text: str) -> int:
            self.pages += 1
            if self.pages > 1:
                raise BrokenPipeError
            return len(text)

    head = Head()
    monkeypatch.setattr(long_table, "out", Terminal(width=80, file=head))
    monkeypatch.setattr(Terminal, "on_broken_pipe", lambda _: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        print_long(COLUMNS, [{"name": "x", "nodes": 1}] * 50 * PAGE)
    assert head.pages == 2
