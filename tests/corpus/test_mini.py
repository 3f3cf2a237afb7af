"""The small selection: categories, operators, limits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus.mini import load_mini, select_mini
from graph_net.corpus.mini_time import eager_seconds
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.shipped import mini_names, shipped_corpus
from graph_net.graph.effects import draws_random


def row(
    name: str,
    operators: str,
    category: str = "nlp",
    size: int = 10,
    library: str = "l",
    nodes: int = 10,
) -> Any:
    return {
        "name": name,
        "operators": operators.split(),
        "category": category,
        "subcategory": "",
        "library": library,
        "tensor_bytes": size,
        "nodes": nodes,
    }


def names(rows: list[Any], count: int, seconds: float | None = 0.01) -> list[str]:
    return [graph.name for graph in select_mini(rows, lambda name: seconds, count).graphs]


def test_the_graph_that_adds_most_operators_comes_first() -> None:
    rows = [row("few", "a b"), row("many", "a b c d"), row("rest", "e"), row("same", "a b c")]
    assert names(rows, 2) == ["many", "rest"]


def test_every_category_has_its_part() -> None:
    rows = [row(f"n{i}", f"a{i} b{i} c{i}") for i in range(10)]
    rows += [row("audio", "a0", "audio"), row("vision", "a0", "computer_vision")]
    chosen = names(rows, 6)
    assert {"audio", "vision"} <= set(chosen)
    assert len(chosen) == 6


def test_another_library_is_worth_some_operators() -> None:
    rows = [row("first", "a b c"), row("second", "d e"), row("foreign", "d", library="other")]
    assert names(rows, 2) == ["first", "foreign"]


def test_what_is_too_large_or_slow_or_quick_is_passed_over_and_measured_once() -> None:
    rows = [row("huge", "a b c d", size=10**9), row("slow", "a b c"), row("quick", "a b")]
    rows += [row("long", "a b c d", nodes=10**4), row("none", "a")]
    times = {"slow": 5.0, "quick": 0.02, "none": 1e-6}
    asked: list[str] = []

    def seconds(name: str) -> float | None:
        asked.append(name)
        return times[name]

    found = select_mini(rows, seconds, 3)
    assert [graph.name for graph in found.graphs] == ["quick"]
    assert asked == ["slow", "quick", "none"]
    assert (found.operators, found.of_operators) == (2, 4)
    assert found.graphs[0].seconds == 0.02


def test_what_cannot_be_run_is_passed_over() -> None:
    assert names([row("a", "x")], 1, seconds=None) == []


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [row(f"g{i}", f"o{i % 3} o{i % 5}") for i in range(20)]
    assert names(rows, 6) == names(rows[::-1], 6)


def test_the_shipped_selection_lies_beside_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PackWriter(tmp_path) as writer:
        writer.add("g", some_graph(1))
    monkeypatch.setenv("GRAPH_NET_CORPUS", str(tmp_path))
    with pytest.raises(PackError, match="graph-net corpus mini"):
        mini_names()
    chosen = select_mini([row("b", "x"), row("a", "y")], lambda name: 0.01, 2, "here")
    chosen.save(tmp_path / "mini.json")
    assert mini_names() == ["a", "b"]
    assert load_mini(tmp_path / "mini.json") == chosen


def test_a_graph_is_timed_in_a_process_of_its_own(tmp_path: Path) -> None:
    with PackWriter(tmp_path) as writer:
        writer.add("g", some_graph(1))
    assert 0 < eager_seconds(Pack(tmp_path), "g") < 60
    assert eager_seconds(Pack(tmp_path), "g", most_flops=-1) == math.inf


def test_a_graph_that_draws_random_numbers_is_not_chosen() -> None:
    """It differs from itself, so that no compiler can be judged by it."""
    rows = [
        row("draws", "aten.randn.default aten.relu.default"),
        row("computes", "aten.relu.default"),
    ]
    assert names(rows, 2) == ["computes"]


def test_the_shipped_selection_can_be_judged() -> None:
    pack = Pack(shipped_corpus())
    for name, graph in pack.graphs(mini_names()):
        assert not any(map(draws_random, graph.nodes)), name
