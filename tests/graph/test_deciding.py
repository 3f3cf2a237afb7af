"""Inputs whose values decide sizes or branches, found by the names of calls."""

from __future__ import annotations

from graph_net.graph import Graph, Input, Integers, Level, Node, Normal, Ref, TensorSpec
from graph_net.graph.deciding_inputs import deciding_inputs
from graph_net.testing.models import CASES, case_graph

FLOATS, MASK = TensorSpec((4,), "float32"), TensorSpec((4,), "bool")


def graph(*nodes: Node) -> Graph:
    inputs = (Input("x", FLOATS, Normal(0.0, 1.0)), Input("m", MASK, Integers(0, 1)))
    return Graph(inputs, nodes, (Ref(nodes[-1].name),), Level.TORCH)


def test_most_graphs_have_none() -> None:
    assert deciding_inputs(case_graph("residual")) == frozenset()


def test_a_mask_that_selects_decides_and_what_is_selected_from_does_not() -> None:
    chosen = graph(Node("y", "operator.getitem", (Ref("x"), Ref("m"))))
    assert deciding_inputs(chosen) == {"m"}


def test_what_a_deciding_value_is_made_of_decides() -> None:
    doubled = Node("d", "torch.mul", (Ref("x"), 2), result=FLOATS)
    assert deciding_inputs(graph(doubled, Node("y", "torch.nonzero", (Ref("d"),)))) == {"x"}


def test_a_size_is_no_value() -> None:
    size = Node("n", "method:size", (Ref("x"), 0))
    repeated = Node("y", "torch.repeat_interleave", (Ref("m"), Ref("n")))
    assert deciding_inputs(graph(size, repeated)) == frozenset()


def test_a_conversion_decides_nothing() -> None:
    assert deciding_inputs(graph(Node("y", "method:int", (Ref("x"),)))) == frozenset()


def test_beside_a_change_in_place_every_input_may_decide() -> None:
    changed = Node("a", "method:add_", (Ref("x"), 1), result=FLOATS)
    assert deciding_inputs(graph(changed, Node("y", "torch.nonzero", (Ref("m"),)))) == {"x", "m"}


def test_every_case_has_an_answer() -> None:
    for case in CASES:
        found = case_graph(case.name)
        assert deciding_inputs(found) <= {entry.name for entry in found.inputs}
