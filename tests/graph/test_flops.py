"""Operations are counted without computing anything."""

from __future__ import annotations

from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec
from graph_net.graph.flops import FlopCount, count_flops

X = Input("x", TensorSpec((2, 3), "float32"), Normal(0.0, 1.0))


def test_a_product_counts_two_operations_for_each_term() -> None:
    product = Node("y", "aten.mm.default", (Ref("x"), Ref("z")))
    z = Input("z", TensorSpec((3, 5), "float32"), Normal(0.0, 1.0))
    assert count_flops(Graph((X, z), (product,), Ref("y"))) == FlopCount(2 * 2 * 3 * 5)


def test_a_graph_that_stops_without_a_word_leaves_its_operations_unknown() -> None:
    silent = Node("y", "torch._assert", (False, ""))
    assert count_flops(Graph((X,), (silent,), Ref("x"))) == FlopCount(None, "AssertionError")
