"""The groups that a graph falls into, kind by kind."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.graph import Graph, Input, Node, Normal, Ref, Role, TensorSpec
from graph_net.graph.execute import digest, run
from graph_net.graph.values import refs
from graph_net.rewrite.blocks import Wire, expand, fold_blocks
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.compose import group_order, run_pieces
from graph_net.rewrite.kinds import KINDS, kind_of
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.operator_weight import Weight, computes, weight_of
from graph_net.rewrite.task import LONGEST, task
from graph_net.testing.models import CASES, case_graph
from graph_net.validate.fake_run import walk

SPEC = TensorSpec((6, 6), "float32")
X = Input("x", SPEC, Normal(0.0, 1.0))
W = Input("w", SPEC, Normal(0.0, 0.1), Role.PARAMETER)
NAMES = [case.name for case in CASES]


def call(name: str, target: str, *args: Any, result: Any = SPEC) -> Node:
    return Node(name, f"aten.{target}", tuple(args), result=result)


def whole(name: str) -> Graph:
    return walk(to_aten(case_graph(name))).graph


def graph_of(*nodes: Node) -> Graph:
    return Graph((X, W), nodes, (Ref(nodes[-1].name),))


@pytest.mark.parametrize("kind", ["sole_op", "task"])
@pytest.mark.parametrize("name", NAMES)
def test_a_partition_composes_to_the_same_bits(name: str, kind: str) -> None:
    graph = whole(name)
    carver = Carver(graph)
    pieces = [carver.carve(group, kind=kind) for group in kind_of(kind)(graph)]
    assert sum(len(piece.nodes) for piece in pieces) == len(graph.nodes)
    assert digest(run_pieces(graph, pieces)) == digest(run(graph))


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"fusible"}))  # kernels compute again
def test_groups_do_not_overlap(kind: str) -> None:
    graph = whole("decoder")
    found = Counter(name for group in kind_of(kind)(graph) for name in group)
    assert set(found.values()) == {1}


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="sole_op, task"):
        kind_of("no_such_kind")


def groups(graph: Graph) -> list[list[str]]:
    return [list(group) for group in task(graph)]


def test_a_task_is_an_operator_with_what_follows_it_element_by_element() -> None:
    graph = graph_of(
        call("a", "linear.default", Ref("x"), Ref("w")),
        call("b", "relu.default", Ref("a")),
        call("c", "linear.default", Ref("b"), Ref("w")),
        call("d", "add.Tensor", Ref("c"), Ref("b")),
    )
    assert groups(graph) == [["a", "b"], ["c", "d"]]


def test_what_only_one_operator_reads_is_computed_with_it() -> None:
    graph = graph_of(
        call("a", "linear.default", Ref("x"), Ref("w")),
        call("t", "t.default", Ref("w")),
        call("s", "mul.Tensor", Ref("x"), 2.0),
        call("m", "mm.default", Ref("s"), Ref("t")),
        call("d", "add.Tensor", Ref("m"), Ref("a")),
    )
    assert groups(graph) == [["a"], ["t", "s", "m", "d"]]


def test_what_two_operators_read_is_computed_apart() -> None:
    graph = graph_of(
        call("s", "mul.Tensor", Ref("x"), 2.0),
        call("a", "linear.default", Ref("s"), Ref("w")),
        call("b", "mm.default", Ref("s"), Ref("a")),
    )
    assert groups(graph) == [["s"], ["a"], ["b"]]


def test_a_change_of_layout_ends_a_task() -> None:
    graph = graph_of(
        call("a", "linear.default", Ref("x"), Ref("w")),
        call("p", "permute.default", Ref("a"), (1, 0)),
        call("r", "relu.default", Ref("p")),
    )
    assert groups(graph) == [["a"], ["p", "r"]]


def test_a_long_chain_is_several_tasks() -> None:
    nodes = [call("n0", "relu.default", Ref("x"))]
    nodes += [call(f"n{i}", "relu.default", Ref(f"n{i - 1}")) for i in range(1, 3 * LONGEST)]
    assert {len(group) for group in groups(graph_of(*nodes))} == {LONGEST}


@given(st.integers(1, 60), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_tasks_can_always_be_computed_one_after_another(count: int, random: Any) -> None:
    targets = ["mm.default", "add.Tensor", "mul.Tensor", "add_.Tensor", "matmul.default"]
    lone = ["relu.default", "t.default", "permute.default", "softmax.int", "relu_.default"]
    nodes = []
    for i in range(count):
        pair = random.random() < 0.5
        names = ["x", "w", *(f"n{j}" for j in range(max(0, i - 8), i))]
        sources = [Ref(random.choice(names)) for _ in range(1 + pair)]
        nodes.append(call(f"n{i}", random.choice(targets if pair else lone), *sources))
    graph = graph_of(*nodes)
    found = groups(graph)
    carver = Carver(graph)
    order = group_order(carver, found)
    assert sorted(order) == list(range(len(found)))
    assert sum(len(carver.carve(group).nodes) for group in found) == count


def test_weights_of_operators() -> None:
    assert weight_of(call("a", "conv2d.default", Ref("x"), Ref("w"))) is Weight.ANCHOR
    assert weight_of(call("a", "relu_.default", Ref("x"))) is Weight.POINTWISE
    assert weight_of(call("a", "permute.default", Ref("x"), (1, 0))) is Weight.LAYOUT
    assert weight_of(call("a", "zeros.default", (2, 2))) is Weight.SOURCE
    assert weight_of(call("a", "made_up.default", Ref("x"))) is Weight.ANCHOR
    norm = ("batch_norm.default", Ref("x"), None, None, None, None)
    assert weight_of(call("a", *norm, True, 0.1, 1e-5, False)) is Weight.ANCHOR
    assert weight_of(call("a", *norm, False, 0.1, 1e-5, False)) is Weight.POINTWISE


def test_views_and_sources_compute_nothing() -> None:
    assert not computes(call("a", "view.default", Ref("x"), (36,)))
    assert not computes(call("a", "arange.default", 6))
    assert computes(call("a", "add.Tensor", Ref("x"), 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_folded_graph_expands_to_itself(name: str) -> None:
    graph = whole(name)
    folded = fold_blocks(graph)
    assert expand(folded) == graph.nodes
    assert folded.size <= len(graph.nodes)


def layered(layers: int) -> Graph:
    """Each layer: its own weights, one value from the layer before, one shared by all."""
    weights = tuple(Input(f"w{i}", SPEC, Normal(0.0, 0.1), Role.PARAMETER) for i in range(layers))
    nodes = [call("mask", "sigmoid.default", Ref("x")), call("h", "tanh.default", Ref("x"))]
    last = "h"
    for i in range(layers):
        nodes += [
            call(f"a{i}", "mm.default", Ref(last), Ref(f"w{i}")),
            call(f"b{i}", "mul.Tensor", Ref(f"a{i}"), Ref("mask")),
            call(f"c{i}", "add.Tensor", Ref(f"b{i}"), Ref(last)),
        ]
        last = f"c{i}"
    nodes.append(call("out", "softmax.int", Ref(last), -1))
    return Graph((X, *weights), tuple(nodes), (Ref("out"),))


def test_layers_fold_to_one_with_count_and_wiring() -> None:
    folded = fold_blocks(layered(7))
    (block,) = folded.blocks
    assert block.count == 7
    assert [node.name for node in block.body.nodes] == ["a0", "b0", "c0"]
    assert [node.name for node in folded.outside] == ["mask", "h", "out"]
    assert folded.size == 6
    carried, own, shared = block.feeds
    assert (carried.wire, carried.source) == (Wire.CARRIED, 2)
    assert own.wire is Wire.OWN
    assert own.names == tuple(f"w{i}" for i in range(7))
    assert shared.wire is Wire.SHARED


def test_layers_that_are_wired_differently_are_not_one_block() -> None:
    graph = layered(4)
    nodes = list(graph.nodes)
    place = next(i for i, node in enumerate(nodes) if node.name == "b3")
    nodes[place] = call("b3", "mul.Tensor", Ref("mask"), Ref("a3"))
    folded = fold_blocks(Graph(graph.inputs, tuple(nodes), graph.output))
    assert [block.count for block in folded.blocks] == [3]
    assert expand(folded) == tuple(nodes)


def test_every_value_of_a_block_that_is_read_outside_is_given() -> None:
    for block in fold_blocks(whole("encoder")).blocks:
        given = {ref.name for ref in refs(block.body.output)}
        assert given <= {node.name for node in block.body.nodes}
        assert given
