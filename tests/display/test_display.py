"""Where a long call says how far it is: a terminal, a log, a notebook, somewhere else, nowhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from graph_net.display.display import Display, display_of
from score.some_samples import record

NOTEBOOK = """
import builtins, sys, types


class ZMQInteractiveShell:
    config = {}


shell, shown = ZMQInteractiveShell(), []
builtins.get_ipython = lambda: shell
fake = types.ModuleType("IPython.display")
fake.display = shown.append
sys.modules["IPython"], sys.modules["IPython.display"] = types.ModuleType("IPython"), fake
sys.path.insert(0, "tests")

from graph_net.display.display import Display
from score.some_samples import record

display = Display()
display.tell("left out: <tvm>")
board = display.board(1)
with board.live_view():
    board.add(record("net"))
print(*(each.html for each in shown))
"""


def use(display: Display) -> None:
    """Everything a display can be asked for."""
    display.tell("left out: tvm")
    with display.waiting("for a script"), display.progress("things", 2) as advance:
        advance()
        advance(failed=True)
    board = display.board(1)
    with board.live_view():
        board.add(record("net"))
    board.report()


def test_a_log_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    use(Display())
    said = capsys.readouterr()
    assert "left out: tvm" in said.err
    assert "inductor net: " in said.err
    assert "1 done" in said.out


def test_a_quiet_display_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    use(display_of(False))
    assert capsys.readouterr() == ("", "")


def test_a_notebook_gets_lines_as_html_in_which_names_are_text() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "left out: &lt;tvm&gt;" in ended.stdout
    assert "inductor net: " in ended.stdout


@dataclass(frozen=True)
class Listed(Display):
    """A display of one's own."""

    lines: list[str] = field(default_factory=list)

    def tell(self, line: str) -> None:
        """Keep the line."""
        self.lines.append(line)


def test_a_display_of_ones_own_is_told_instead(capsys: pytest.CaptureFixture[str]) -> None:
    mine = Listed(quiet=True)
    use(display_of(mine))
    assert mine.lines == ["left out: tvm"]
    assert capsys.readouterr() == ("", "")
