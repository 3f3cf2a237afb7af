"""What a long command says of itself, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from graph_net.display import progress as module


def said(monkeypatch: pytest.MonkeyPatch, terminal: bool, fails: tuple[bool, ...]) -> str:
    """What is printed while things are done, half a second each."""
    clock = iter(range(1000))
    monkeypatch.setattr("graph_net.display.progress.time.monotonic", lambda: next(clock) / 2)
    text = io.StringIO()
    monkeypatch.setattr(module, "err", Console(file=text, force_terminal=terminal, width=100))
    with module.progress("things", 7210) as advance:
        for failed in fails:
            advance(failed)
    return text.getvalue()


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(monkeypatch, False, (False,) * 130).splitlines()
    assert lines == ["things 60/7210 2.0/s, 1 h 0 min left", "things 120/7210 2.0/s, 59 min left"]


def test_a_log_says_how_many_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = said(monkeypatch, False, (True, True, *(False,) * 60)).splitlines()
    assert ", 2 failed, " in line


def test_what_ends_soon_leaves_no_line_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, False, (True,) * 10) == ""


def test_a_terminal_gets_a_bar_with_rate_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    text = said(monkeypatch, True, (True, False, False))
    assert all(word in text for word in ("things", "3/7210", "1 failed"))
