"""Features from decisions alone are those of the traces that have these decisions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.spaces.decisions import DecisionChange, DecisionEncoder, Slot
from graph_net.programs.spaces.primitives import encode_trace, encode_traces
from graph_net.programs.spaces.traces import mutate_trace
from programs.spaces.test_primitives import TRACE, TRACES, decision, instruction, read_some, value


def with_decisions(drawn: dict[int, Any]) -> str:
    return json.dumps([TRACE[0], [[index, what] for index, what in drawn.items()]])


drawn_by_trace = st.fixed_dictionaries(
    {
        2: st.lists(st.integers(1, 64), min_size=3, max_size=3),
        4: st.integers(0, 2),
        6: st.integers(-2, 9),
    }
)


@given(st.lists(drawn_by_trace, min_size=1, max_size=5))
def test_a_population_has_the_features_of_its_traces(population: list[dict[int, Any]]) -> None:
    encoder, _ = DecisionEncoder.of(json.dumps(TRACE))
    texts = [with_decisions(drawn) for drawn in population]
    assert np.array_equal(encoder.encode_many(population), encode_traces(texts))


@given(drawn_by_trace, drawn_by_trace, st.sampled_from([2, 4, 6]))
def test_a_change_has_the_features_of_the_changed_trace(
    drawn: dict[int, Any], other: dict[int, Any], index: int
) -> None:
    encoder, _ = DecisionEncoder.of(json.dumps(TRACE))
    parent = encode_trace(with_decisions(drawn))
    before = parent.copy()
    child = encoder.encode_change(parent, index, other[index])
    assert np.array_equal(child, encode_trace(with_decisions({**drawn, index: other[index]})))
    assert np.array_equal(parent, before)


@given(
    st.lists(instruction, max_size=12),
    st.lists(st.lists(decision, max_size=6), min_size=1, max_size=3),
    st.integers(-2, 12),
    value,
)
def test_whatever_was_drawn_the_quick_way_gives_the_same(
    instructions: Any, decided: Any, index: int, other: Any
) -> None:
    texts = [json.dumps([instructions, decisions]) for decisions in decided]
    slow = encode_traces(texts)
    encoder, _ = DecisionEncoder.of(texts[0])
    population = [DecisionEncoder.of(text)[1] for text in texts]
    assert np.array_equal(encoder.encode_many(population), slow)
    changes = [DecisionChange(row, index, other) for row in range(len(texts))]
    changed = [json.dumps([instructions, [*decisions, [index, other]]]) for decisions in decided]
    assert np.array_equal(encoder.encode_changes(slow, changes), encode_traces(changed))


def test_a_table_has_a_column_for_each_number_that_is_used() -> None:
    encoder, drawn = DecisionEncoder.of(json.dumps(TRACE))
    assert encoder.slots == (Slot(2, 0), Slot(2, 1), Slot(2, 2), Slot(4, 0), Slot(6, 0))
    assert encoder.table([drawn]).tolist() == [[4, 8, 2, 1, -2]]
    assert encoder.table([{}]).tolist() == [[0, 0, 0, -1, 0]]


def test_no_change_is_no_program() -> None:
    encoder, _ = DecisionEncoder.of(json.dumps(TRACE))
    parents = encode_traces([json.dumps(TRACE)])
    assert encoder.encode_changes(parents, []).shape == (0, *parents.shape[1:])
    assert encoder.encode_many([]).shape == (0, *parents.shape[1:])


def test_mutations_of_real_traces_have_the_features_of_their_text(real_files: Path) -> None:
    chance = random.Random(0)  # noqa: S311  # no secret
    for line in read_some(real_files / TRACES)[:40]:
        trace = line[1][0]
        encoder, drawn = DecisionEncoder.of(json.dumps(trace))
        parent = encode_trace(json.dumps(trace))
        assert np.array_equal(encoder.encode_many([drawn])[0], parent)
        mutated = mutate_trace(trace, chance)
        assert mutated is not None
        ((index, other),) = [entry for entry in mutated[1] if entry[1] != drawn[entry[0]]]
        child = encoder.encode_change(parent, index, other)
        assert np.array_equal(child, encode_trace(json.dumps(mutated)))
