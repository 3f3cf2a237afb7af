"""Inputs that change from call to call: which ones, and how."""

from __future__ import annotations

from random import Random

import torch

from graph_net.graph import (
    Constant,
    Graph,
    Input,
    Integers,
    Level,
    Literal,
    Node,
    Normal,
    Ref,
    TensorSpec,
)
from graph_net.graph.execute import make_inputs
from graph_net.graph.graph import Role
from graph_net.measure.changing_inputs import ChangingInputs, input_choices

SPEC = TensorSpec((6, 4), "float32")
NUMBERS = TensorSpec((3,), "int64")


def graph(*inputs: Input) -> Graph:
    node = Node("y", "torch.relu", (Ref(inputs[0].name),))
    return Graph(inputs, (node,), (Ref("y"),), Level.TORCH)


X = Input("x", SPEC, Normal(0.0, 1.0))
IDS = Input("ids", NUMBERS, Integers(5, 9))
WRITTEN = Input("written", NUMBERS, Literal((0, 3, 7)))
WEIGHT = Input("w", SPEC, Normal(0.0, 1.0), Role.PARAMETER)
ZEROS = Input("zeros", SPEC, Constant(0.0))


def test_data_changes_and_weights_stay() -> None:
    assert next(input_choices(graph(X, IDS, WRITTEN, WEIGHT, ZEROS))) == (0, 1)


def test_written_numbers_change_where_nothing_else_does() -> None:
    assert next(input_choices(graph(WEIGHT, WRITTEN))) == (1,)


def test_weights_change_where_there_is_no_data() -> None:
    assert list(input_choices(graph(WEIGHT, ZEROS))) == [(0,), ()]


def moves(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - a repeatable choice


def changing(calls: int) -> ChangingInputs:
    made = graph(X, IDS, WEIGHT)
    return ChangingInputs(made, make_inputs(made), (0, 1), 3, calls)


def test_the_calls_of_a_sample_have_values_of_their_own() -> None:
    inputs = changing(8)
    inputs.renew(moves(0), 8)
    assert len({tuple(given[0].flatten().tolist()) for given in inputs.sets}) == 8


def test_values_change_where_tensors_stay() -> None:
    inputs = changing(2)
    inputs.renew(moves(0), 2)
    before, place = inputs.sets[1][0].clone(), inputs.sets[1][0].data_ptr()
    inputs.renew(moves(1), 2)
    assert inputs.sets[1][0].data_ptr() == place
    assert not torch.equal(inputs.sets[1][0], before)


def test_numbers_stay_within_their_recipe() -> None:
    inputs = changing(16)
    inputs.renew(moves(0), 16)
    drawn = torch.stack([given[1] for given in inputs.sets])
    assert 5 <= int(drawn.min()) <= int(drawn.max()) <= 9


def test_the_same_places_give_the_same_values() -> None:
    inputs = changing(2)
    places = inputs.renew(moves(0), 2)
    before = inputs.sets[0][0].clone()
    inputs.renew(moves(1), 2)
    inputs.fill(places, 2)
    assert torch.equal(inputs.sets[0][0], before)


def test_another_process_finds_the_same_values() -> None:
    first, second = changing(4), changing(4)
    first.renew(moves(7), 4)
    second.renew(moves(7), 4)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(first.sets, second.sets, strict=True))


def test_an_element_often_stays_where_others_change() -> None:
    inputs, random = changing(1), moves(0)
    firsts, whole = list[float](), set[tuple[float, ...]]()
    for _ in range(64):
        inputs.renew(random, 1)
        firsts.append(float(inputs.sets[0][0][0, 0]))
        whole.add(tuple(inputs.sets[0][0].flatten().tolist()))
    assert len(set(firsts)) < 20
    assert len(whole) == 64
