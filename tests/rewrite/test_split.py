"""A graph cut into pieces that compose to the same outputs."""

from __future__ import annotations

import pytest

from graph_net.graph import Graph, Input, Node, Normal, Ref, TensorSpec, from_bytes, to_bytes
from graph_net.graph.execute import digest, run
from graph_net.rewrite.compose import run_pieces
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.split import cut_positions, split
from graph_net.testing.models import CASES, case_graph
from graph_net.validate.fake_run import walk

SPEC = TensorSpec((2, 6), "float32")
X = Input("x", SPEC, Normal(0.0, 1.0))
NAMES = [case.name for case in CASES]


def whole(name: str) -> Graph:
    return walk(to_aten(case_graph(name))).graph


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [2, 5])
def test_the_pieces_compose_to_the_same_bits(name: str, count: int) -> None:
    graph = whole(name)
    pieces = split(graph, count)
    assert digest(run_pieces(graph, pieces)) == digest(run(graph))
    assert sum(len(piece.nodes) for piece in pieces) == len(graph.nodes)


def test_each_piece_is_a_graph_of_its_own() -> None:
    graph = whole("decoder")
    pieces = split(graph, 4)
    assert len(pieces) == 4
    for piece in pieces:
        assert from_bytes(to_bytes(piece)) == piece
        run(piece)


def test_a_piece_takes_no_more_than_it_reads() -> None:
    graph = whole("decoder")
    for piece in split(graph, 3):
        read = {ref.name for node in piece.nodes for ref in node.refs}
        returned = {ref.name for ref in piece.output} if isinstance(piece.output, tuple) else set()  # type: ignore[union-attr]
        assert {entry.name for entry in piece.inputs} <= read | returned


def test_no_cut_between_a_tuple_and_who_takes_it_apart() -> None:
    nodes = (
        Node("a", "aten.relu.default", (Ref("x"),), result=SPEC),
        Node("both", "aten.split.Tensor", (Ref("a"), 3, 1), result=(SPEC, SPEC)),
        Node("left", "operator.getitem", (Ref("both"), 0), result=SPEC),
        Node("right", "operator.getitem", (Ref("both"), 1), result=SPEC),
    )
    assert cut_positions(Graph((X,), nodes, (Ref("left"), Ref("right")))) == [1]


def test_no_cut_where_two_names_of_one_changed_storage_cross() -> None:
    """As tensors of their own the view would not see what is written to its base."""
    nodes = (
        Node("base", "aten.exp.default", (Ref("x"),), result=SPEC),
        Node(
            "view", "aten.view.default", (Ref("base"), (6, 2)), result=TensorSpec((6, 2), "float32")
        ),
        Node("write", "aten.add_.Tensor", (Ref("base"), 1.0), result=SPEC),
        Node("out", "aten.relu.default", (Ref("view"),), result=TensorSpec((6, 2), "float32")),
    )
    assert cut_positions(Graph((X,), nodes, (Ref("out"),))) == [1, 3]


def test_at_least_one_piece() -> None:
    with pytest.raises(ValueError, match="0 pieces"):
        split(whole("decoder"), 0)
