"""Schedules as sequences of primitives: fixed shape, the same for the same program."""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.spaces import SpaceError
from graph_net.programs.spaces.ansor_steps import CPU_LENGTH, GPU_LENGTH, encode_steps
from graph_net.programs.spaces.magnitudes import log_magnitude
from graph_net.programs.spaces.primitives import (
    KINDS,
    LENGTH,
    SHAPE,
    WIDTH,
    WORDS,
    TraceEncoder,
    encode_trace,
)

NUMBERS = WIDTH - 7

TRACE: list[Any] = [
    [
        ["GetBlock", [], ["matmul", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2"]],
        ["SamplePerfectTile", ["l1"], [3, 64], ["v3", "v4", "v5"]],
        ["Split", ["l1", "v3", "v4", "v5"], [1], ["l6", "l7", "l8"]],
        ["SampleCategorical", [], [[0, 16, 64], [0.3, 0.3, 0.4]], ["v9"]],
        ["Annotate", ["b0", "v9"], ["meta_schedule.unroll_explicit"], []],
        ["SampleComputeLocation", ["b0"], [], ["l10"]],
        ["ComputeAt", ["b0", "l10"], [1, -1], []],
        ["EnterPostproc", [], [], []],
        ["Unannotate", ["b0"], ["meta_schedule.unroll_explicit"], []],
    ],
    [[2, [4, 8, 2]], [4, 1], [6, -2]],
]


def encoded(trace: Any) -> Any:
    return encode_trace(json.dumps(trace))


def changed(index: int, drawn: Any) -> list[Any]:
    trace = deepcopy(TRACE)
    trace[1][index][1] = drawn
    return trace


def test_a_row_is_a_primitive_with_what_was_drawn_for_it() -> None:
    rows = encoded(TRACE)
    assert rows.shape == SHAPE
    assert rows.dtype == np.float32
    assert [KINDS[int(row[: len(KINDS)].argmax())] for row in rows[:3]] == [
        "Split", "Annotate", "ComputeAt",
    ]  # fmt: skip
    assert np.array_equal(rows[0, NUMBERS : NUMBERS + 3], log_magnitude([4, 8, 2]))
    assert rows[1, NUMBERS] == log_magnitude(16)
    assert rows[2, NUMBERS] == log_magnitude(-2)
    assert rows[1, len(KINDS) + 2 + WORDS.index("meta_schedule.unroll_explicit")] == 1
    assert not rows[3:].any()


@pytest.mark.parametrize(("place", "drawn"), [(0, [8, 4, 2]), (1, 2), (2, 3)])
def test_another_decision_is_another_array(place: int, drawn: Any) -> None:
    assert not np.array_equal(encoded(TRACE), encoded(changed(place, drawn)))


def test_postprocessing_changes_nothing() -> None:
    assert np.array_equal(encoded(TRACE), encoded([TRACE[0][:8], TRACE[1]]))


def test_a_long_trace_is_cut_and_says_so() -> None:
    long = [[["Unroll", [], [], []]] * (LENGTH + 5), []]
    assert encoded(long).shape == SHAPE
    assert TraceEncoder().rows(json.dumps(long)) == LENGTH + 5


def test_a_batch_is_its_traces_one_by_one() -> None:
    empty: list[Any] = [[], []]
    traces = [json.dumps(trace) for trace in (TRACE, changed(0, [1, 1, 64]), empty, TRACE)]
    batch = TraceEncoder().encode(traces)
    for one, trace in zip(batch, traces, strict=True):
        assert np.array_equal(one, encode_trace(trace))


@pytest.mark.parametrize(
    "text",
    ["", "[", "7", "[]", "{}", "[1,2]", "[[[1]],[]]", '[[["Split"]],[]]', "[[],[1]]",
     "[[],[[Infinity,1]]]", "[[],[[NaN,1]]]",
     '[[["Split",1,2,3]],[]]', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(SpaceError, match="not a trace"):
        encode_trace(text)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[[]]", "[[1]]", "[" * 100_000])
def test_what_is_no_list_of_steps_is_refused(text: str) -> None:
    with pytest.raises(SpaceError, match="not a list of Ansor's steps"):
        encode_steps([text])


leaf = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5),
    st.sampled_from(["v0", "v1", "v2", "l0", "None", '"SSR"']),
)  # fmt: skip
value = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)  # fmt: skip
name = st.sampled_from([*KINDS, "SamplePerfectTile", "SampleCategorical", "GetLoops", "Novel"])
instruction = st.tuples(
    name | st.text(max_size=6),
    st.lists(value, max_size=6),
    st.lists(value, max_size=3),
    st.lists(st.sampled_from(["v0", "v1", "v2", "l0"]), max_size=3),
)
decision = st.tuples(st.integers(-2, 12), value)


@given(st.lists(instruction, max_size=12), st.lists(decision, max_size=6))
def test_whatever_a_trace_holds_its_features_are_numbers(instructions: Any, decisions: Any) -> None:
    text = json.dumps([instructions, decisions])
    rows = encode_trace(text)
    assert rows.shape == SHAPE
    assert np.isfinite(rows).all()
    assert np.array_equal(rows, TraceEncoder().encode([text])[0])


factors = st.lists(st.integers(1, 64), min_size=3, max_size=3)


@given(factors, factors)
def test_tiles_differ_where_their_features_do(first: list[int], second: list[int]) -> None:
    same = np.array_equal(encoded(changed(0, first)), encoded(changed(0, second)))
    assert same == (first == second)


@given(st.lists(st.tuples(st.text(max_size=4), st.lists(value, max_size=4)), max_size=50))
def test_whatever_steps_hold_their_features_are_numbers(steps: Any) -> None:
    rows = encode_steps([json.dumps([[kind, *rest] for kind, rest in steps])], CPU_LENGTH)
    assert rows.shape == (1, 25, 22)
    assert np.isfinite(rows).all()


@given(st.integers(1, 1024), st.integers(1, 1024))
def test_lengths_of_a_split_are_seen(first: int, second: int) -> None:
    made = encode_steps([json.dumps([["SP", 2, 0, 1024, [n], 1]]) for n in (first, second)])
    assert np.array_equal(made[0], made[1]) == (first == second)


def test_a_pragma_has_its_number() -> None:
    made = encode_steps([json.dumps([["PR", 1, 0, f"auto_unroll_max_step${n}"]]) for n in (16, 64)])
    assert np.count_nonzero(made[0] != made[1]) == 1
    assert log_magnitude(64) in made[1, 0]


TRACES = "metaschedule/a100_resnet34_database_tuning_record.json.gz"


def read_some(path: Path) -> list[Any]:
    """Return every line of a slice, every tenth of a long file's first 4,000."""
    with gzip.open(path, "rt") as lines:
        texts = list(islice(lines, 4000))
    return [json.loads(line) for line in (texts[::10] if len(texts) > 1000 else texts)]


def test_real_traces_differ_as_their_features_do(real_files: Path) -> None:
    texts = {json.dumps(line[1][0]) for line in read_some(real_files / TRACES)}
    assert len(texts) > 80
    made = TraceEncoder().encode(sorted(texts))
    assert len({array.tobytes() for array in made}) == len(texts)


def test_real_traces_draw_nothing_in_postprocessing(real_files: Path) -> None:
    for line in read_some(real_files / TRACES):
        instructions, decisions = line[1][0]
        names = [instruction[0] for instruction in instructions]
        assert all(place < names.index("EnterPostproc") for place, _ in decisions)


def test_real_steps_differ_as_their_features_do(real_files: Path) -> None:
    texts = {
        json.dumps(line["i"][1][1]) for line in read_some(real_files / "ansor/k80/conv.json.gz")
    }
    assert len(texts) >= 200
    made = encode_steps(sorted(texts), GPU_LENGTH)
    assert len({array.tobytes() for array in made}) == len(texts)
