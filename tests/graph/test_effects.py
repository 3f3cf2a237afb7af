"""What calls depend on beyond their arguments: mutation, random numbers, autocast."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graph_net.graph import Graph, Input, ListValue, Node, Normal, Ref, RunDevice, Slice, TensorSpec
from graph_net.graph.effects import draws_random, effect_edges, mutated_arguments
from graph_net.graph.values import Value

A, B, C, D, E = (Ref(name) for name in "abcde")
ENTER = "torch.amp.autocast_mode._enter_autocast"
EXIT = "torch.amp.autocast_mode._exit_autocast"
Call = tuple[str, tuple[Value, ...]] | tuple[str, tuple[Value, ...], dict[str, Value]]


def node(name: str, call: Call) -> Node:
    target, args, *rest = call
    kwargs = rest[0] if rest else {}
    assert isinstance(kwargs, dict)
    return Node(name, str(target), args, tuple(kwargs.items()))


def edges(*calls: Call) -> dict[int, set[int]]:
    """The effects of calls named n0, n1, … on inputs a to e."""
    inputs = [Input(name, TensorSpec((2,), "float32"), Normal(0.0, 1.0)) for name in "abcde"]
    nodes = [node(f"n{i}", call) for i, call in enumerate(calls)]
    found = effect_edges(Graph(tuple(inputs), tuple(nodes), None))
    return {i: set(before) for i, before in found.items()}


@pytest.mark.parametrize(
    ("call", "changed"),
    [
        (("torch.add", (A, B)), ()),
        (("method:add", (A, B)), ()),
        (("method:add_", (A, B)), (A,)),
        (("torch.relu_", (A,)), (A,)),
        (("aten.mul_.Tensor", (A, B)), (A,)),
        (("aten.mul.Tensor", (A, B)), ()),
        (("operator.iadd", (A, B)), (A,)),
        (("operator.imatmul", (A, B)), (A,)),
        (("operator.setitem", (A, 0, B)), (A,)),
        (("operator.getitem", (A, 0)), ()),
        (("operator.invert", (A,)), ()),
        (("operator.index", (A,)), ()),
        (("operator.is_", (A, None)), ()),
        (("operator.and_", (A, B)), ()),
        (("operator.not_", (A,)), ()),
        (("method:__iadd__", (A, B)), (A,)),
        (("method:__and__", (A, B)), ()),
        (("method:__setitem__", (A, 0, B)), (A,)),
        (("torch.nn.functional.relu", (A,), {"inplace": True}), (A,)),
        (("torch.nn.functional.relu", (A, True)), (A,)),
        (("torch.nn.functional.relu", (A,), {"inplace": False}), ()),
        (("torch.nn.functional.leaky_relu", (A, 0.2, True)), (A,)),
        (("torch.nn.functional.dropout", (A, 0.5, False, True)), (A,)),
        (("torch.add", (A, B), {"out": C}), (C,)),
        (("torch.nn.functional.batch_norm", (A, B, C, D, E), {"training": True}), (B, C)),
        (("torch.nn.functional.batch_norm", (A, B, C, D, E, True)), (B, C)),
        (("torch.nn.functional.batch_norm", (A, B, C, D, E, False)), ()),
        (("torch.nn.functional.batch_norm", (A, B, C)), ()),
        (("torch.batch_norm", (A, B, C, D, E, True, 0.1, 1e-5, False)), (D, E)),
        (("aten.native_batch_norm.default", (A, B, C, D, E, True, 0.1, 1e-5)), (D, E)),
        (("torch.nn.functional.instance_norm", (A, B, C)), (B, C)),
        (("torch.rand", ()), ()),
        (("torch.relu_", (), {"input": A}), (A,)),
    ],
)
def test_what_a_call_changes_in_place(call: Call, changed: tuple[Ref, ...]) -> None:
    assert mutated_arguments(node("n", call)) == changed


@pytest.mark.parametrize(
    ("call", "draws"),
    [
        (("torch.rand", (3,)), True),
        (("torch.randn_like", (A,)), True),
        (("method:bernoulli_", (A, 0.5)), True),
        (("aten.rand.default", (ListValue((3,)),)), True),
        (("torch.zeros", (3,)), False),
        (("torch.nn.functional.dropout", (A, 0.1)), True),
        (("torch.nn.functional.dropout", (A, 0.1, True)), True),
        (("torch.nn.functional.dropout", (A, 0.1, False)), False),
        (("torch.nn.functional.dropout", (A, 0.1), {"training": False}), False),
        (("torch.dropout", (A, 0.1, False)), False),
        (("aten.dropout.default", (A, 0.1, True)), True),
        (("torch.nn.functional.scaled_dot_product_attention", (A, B, C)), False),
        (("torch.nn.functional.scaled_dot_product_attention", (A, B, C, None, 0.1)), True),
        (("torch.nn.functional.scaled_dot_product_attention", (A, B), {"dropout_p": 0.0}), False),
        (("torch.nn.functional.rrelu", (A, 0.1, 0.3)), False),
        (("torch.nn.functional.rrelu", (A, 0.1, 0.3, True)), True),
    ],
)
def test_which_calls_draw_random_numbers(call: Call, draws: bool) -> None:
    assert draws_random(node("n", call)) is draws


def test_pure_calls_have_no_effects() -> None:
    assert edges(("torch.add", (A, B)), ("torch.relu", (Ref("n0"),)), ("torch.rand", (3,))) == {}


def test_random_calls_keep_their_order() -> None:
    draw: Call = ("torch.rand", (3,))
    assert edges(draw, ("torch.relu", (A,)), draw, draw) == {2: {0}, 3: {2}}


def test_a_write_comes_after_earlier_reads_and_before_later_ones() -> None:
    read: Call = ("torch.relu", (A,))
    assert edges(read, read, ("method:add_", (A, 1)), read, read) == {2: {0, 1}, 3: {2}, 4: {2}}


def test_reads_between_two_writes_lie_between_them() -> None:
    read: Call = ("torch.relu", (A,))
    write: Call = ("method:add_", (A, 1))
    assert edges(write, read, write, read) == {1: {0}, 2: {0, 1}, 3: {2}}


def test_a_write_says_nothing_on_other_storages() -> None:
    assert edges(("torch.relu", (B,)), ("method:add_", (A, 1)), ("torch.relu", (B,))) == {}


def test_a_view_shares_the_storage() -> None:
    found = edges(
        ("method:view", (A, -1)),
        ("torch.relu", (A,)),
        ("operator.setitem", (Ref("n0"), Slice(None, 1, None), 0)),
        ("torch.relu", (A,)),
    )
    assert found == {2: {0, 1}, 3: {2}}


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (("method:chunk", (A, 2)), ("operator.getitem", (Ref("n0"), 0))),
        (("builtins.getattr", (A, "T")), ("method:contiguous", (Ref("n0"),))),
        (("torch.nn.functional.dropout", (A, 0.1, False)), ("method:float", (Ref("n0"),))),
        (("method:add_", (A, 1)), ("operator.getitem", (Ref("n0"), 0))),
    ],
)
def test_a_part_of_a_view_shares_the_storage(call: Call, part: Call) -> None:
    found = edges(call, part, ("method:zero_", (Ref("n1"),)), ("torch.relu", (A,)))
    assert 2 in found[3]


def test_a_copy_has_a_storage_of_its_own() -> None:
    found = edges(("method:clone", (A,)), ("method:zero_", (Ref("n0"),)), ("torch.relu", (A,)))
    assert found == {}


def test_running_statistics_are_written() -> None:
    norm: Call = ("torch.nn.functional.batch_norm", (A, B, C, None, None, True))
    assert edges(norm, ("torch.relu", (B,)), ("torch.relu", (D,))) == {1: {0}}


def test_nothing_crosses_the_switch_of_autocast() -> None:
    relu: Call = ("torch.relu", (A,))
    found = edges(
        relu,
        (ENTER, (RunDevice(as_text=True), None, True, None)),
        relu,
        (EXIT, (Ref("n1"),)),
        relu,
    )
    assert found == {1: {0}, 2: {1}, 3: {1, 2}, 4: {3}}


def test_autocast_that_is_off_switches_nothing() -> None:
    relu: Call = ("torch.relu", (A,))
    assert edges(relu, (ENTER, (RunDevice(True), None, False)), relu, (EXIT, (Ref("n1"),))) == {}


def count_edges(calls: Sequence[Call]) -> int:
    return sum(len(before) for before in edges(*calls).values())


def test_edges_are_linear_in_the_calls() -> None:
    reads: list[Call] = [("torch.relu", (A,))] * 3
    layer: list[Call] = [*reads, ("method:add_", (A, B)), ("torch.rand", (3,))]
    assert count_edges(layer * 40) <= 2 * count_edges(layer * 20) + 10
