"""The network made of one of the best programs of each task."""

from __future__ import annotations

import pytest

from graph_net.search.combinations import best_combination, combinations
from graph_net.search.measurer import SearchError

BEST = {"a": ["a1", "a2", "a3", "a4"], "b": ["b1", "b2"]}


def test_the_first_is_every_tasks_best_and_all_are_distinct() -> None:
    found = [tuple(choice.values()) for choice in combinations(BEST)]
    assert found[0] == ("a1", "b1")
    assert sorted(found) == [(a, b) for a in ("a1", "a2", "a3") for b in ("b1", "b2")]


def test_as_many_as_are_asked_for() -> None:
    assert len(list(combinations(BEST, count=4))) == 4


def test_the_fastest_end_to_end_is_kept() -> None:
    def measure(choice: dict[str, str]) -> float:
        return 1.0 if choice == {"a": "a3", "b": "b2"} else 2.0

    assert best_combination(BEST, measure) == ({"a": "a3", "b": "b2"}, 1.0)


def test_a_task_without_a_program_is_named() -> None:
    with pytest.raises(SearchError, match="no program of c"):
        list(combinations({**BEST, "c": []}))
