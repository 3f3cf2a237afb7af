"""Traces of MetaSchedule as data: counted and changed without TVM."""

from __future__ import annotations

import json
import random
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.spaces.traces import before_postproc, mutate_trace, parse_trace, programs_of


def tile(factors: list[int], innermost: int = 64) -> tuple[list[object], list[int]]:
    return ["SamplePerfectTile", ["l0"], [len(factors), innermost], ["v"]], factors


def trace(*drawn: tuple[list[object], object]) -> list[Any]:
    instructions = [["GetSBlock", [], ["b", "main"], ["b0"]], *(entry[0] for entry in drawn)]
    return [instructions, [[i + 1, entry[1]] for i, entry in enumerate(drawn)]]


CHOICE: tuple[list[object], object] = (
    ["SampleCategorical", [], [[0, 16, 64], [0.3, 0.3, 0.4]], ["v1"]],
    1,
)


@given(st.integers(1, 30), st.integers(1, 3), st.integers(1, 20))
def test_tilings_are_counted_as_by_hand(extent: int, parts: int, innermost: int) -> None:
    factors = [extent, *[1] * (parts - 1)]
    tried = product(range(1, extent + 1), repeat=parts)
    by_hand = sum(prod(way) == extent and way[-1] <= innermost for way in tried)
    assert programs_of(parse_trace(json.dumps(trace(tile(factors, innermost))))) == by_hand


def test_decisions_multiply() -> None:
    assert programs_of(trace(tile([4, 1]), CHOICE)) == 3 * 3


@given(st.integers(1, 5000), st.integers(2, 4), st.integers(0, 1 << 20))
def test_a_moved_factor_keeps_the_extent_and_the_bound(extent: int, parts: int, seed: int) -> None:
    factors = [extent, *[1] * (parts - 1)]
    made = mutate_trace(trace(tile(factors, 8)), random.Random(seed))  # noqa: S311
    if extent == 1:
        assert made is None
        return
    if made is not None:
        ((_, found),) = made[1]
        assert prod(found) == extent
        assert found[-1] <= 8
        assert found != factors


@given(st.integers(0, 1 << 20))
def test_one_decision_changes(seed: int) -> None:
    before = trace(tile([6, 2]), CHOICE)
    after = mutate_trace(before, random.Random(seed))  # noqa: S311
    assert after is not None
    assert after[0] == before[0]
    assert sum(a != b for a, b in zip(after[1], before[1], strict=True)) == 1


def test_what_was_computed_from_decisions_goes() -> None:
    drawn = trace(tile([4, 1]))
    longer = [[*drawn[0], ["EnterPostproc", [], [], []], ["Parallel", ["l1"], [], []]], drawn[1]]
    assert before_postproc(longer) == drawn
    assert programs_of(longer) == programs_of(drawn)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[1, 2]", "[[[1, [], [], []]], []]", '[[["A", [], []]], []]', "[[], [[0, 1]]]"],
)
def test_what_is_no_trace_is_told(text: str) -> None:
    with pytest.raises(SpaceError, match="not a trace"):
        parse_trace(text)
