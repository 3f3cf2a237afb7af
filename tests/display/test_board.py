"""The board of a run: what it says while something runs, and at the end."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from graph_net.display.board import Board
from measure.asking import small_graph, task
from score.some_samples import record

NOW = 1000.0


@pytest.fixture(autouse=True)
def _a_clock_that_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_net.display.board.time", SimpleNamespace(monotonic=lambda: NOW))


def title(board: Board) -> str:
    return str(board.table().title)


def test_nothing_that_is_not_known_is_said() -> None:
    board = Board(3, NOW - 1)
    assert title(board) == "0 done, 3 to do, 0.0 per minute"


def test_a_run_under_way_says_what_it_does_and_what_fits() -> None:
    board = Board(1000, NOW + 60)
    board.began -= 60
    board.watch("stage", "key", "compile")
    board.add(record("net"))
    said = title(board)
    assert said.startswith("1 done, 999 to do, ")
    assert "of the budget left, about 1 more will fit (1 compile)" in said


def test_what_did_not_fit_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    board = Board(9, NOW + 60)
    begun = list(
        board.until_budget(iter([task("eager", small_graph(size)) for size in range(3, 10)]))
    )
    board.watch("stage", begun[0].key, "compile")
    for one in begun:
        board.watch("stopped", one.key, "compile" if one is begun[0] else "")
    board.report()
    said = capsys.readouterr().err
    assert "9 measurements did not fit; the same command resumes with them" in said
    assert "stopped at compile: eager on small3" in said
    assert "stopped at start: eager on small4" in said
    assert "… and 2 more that were started" in said


def test_a_run_that_is_over_says_nothing_of_its_budget() -> None:
    board = Board(1, NOW + 60)
    board.watch("stage", "key", "compile")
    board.add(record("net"))
    board.watch("record", "key", "")
    assert "budget" not in title(board)
    assert "()" not in title(board)


def test_a_mixed_cluster_has_a_row_per_device_with_what_differs() -> None:
    board = Board(2, None, quiet=True)
    board.add(record("net"))
    assert [column.header for column in board.table().columns][:2] == ["compiler", "faster"]
    older = replace(record("net").device, software={"torch": "2.11.0"})
    board.add(record("net", device=older))
    table = board.table()
    assert table.row_count == 2
    assert [column.header for column in table.columns][:2] == ["compiler", "device"]
    devices = [str(cell) for cell in table.columns[1].cells]
    assert len(set(devices)) == 2
    assert any("torch 2.11.0" in device for device in devices)
