"""Sets of nodes as graphs of their own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.graph import (
    Constant,
    Expr,
    Graph,
    GraphError,
    Input,
    Node,
    Normal,
    Ref,
    Role,
    ScalarSpec,
    Symbol,
    TensorSpec,
    from_bytes,
    to_bytes,
)
from graph_net.graph.execute import digest, run
from graph_net.graph.hashing import id_hash
from graph_net.rewrite.carve import Carver, carve, ranges
from graph_net.rewrite.compose import run_pieces, sort_pieces
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import CASES, case_graph
from graph_net.validate.fake_run import walk

SPEC = TensorSpec((2, 6), "float32")
X = Input("x", SPEC, Normal(0.0, 1.0))
W = Input("w", TensorSpec((6, 6), "float32"), Normal(0.5, 0.1), Role.PARAMETER, original="fc.w")


def call(name: str, target: str, *args: Any, result: Any = SPEC) -> Node:
    return Node(name, f"aten.{target}", args, result=result)


def diamond() -> Graph:
    """x -> a -> (b, c) -> d, and e beside them."""
    nodes = (
        call("a", "linear.default", Ref("x"), Ref("w")),
        call("b", "relu.default", Ref("a")),
        call("e", "sigmoid.default", Ref("x")),
        call("c", "exp.default", Ref("a")),
        call("d", "add.Tensor", Ref("b"), Ref("c")),
    )
    return Graph((X, W), nodes, Ref("d"))


def whole(name: str) -> Graph:
    return walk(to_aten(case_graph(name))).graph


def test_a_piece_takes_what_it_reads_and_gives_what_is_read_outside() -> None:
    piece = carve(diamond(), ["a", "c"], kind="test")
    assert [entry.name for entry in piece.inputs] == ["x", "w"]
    assert [node.name for node in piece.nodes] == ["a", "c"]
    assert piece.output == (Ref("a"), Ref("c"))


def test_what_the_whole_graph_takes_keeps_role_and_recipe() -> None:
    assert carve(diamond(), ["a"]).inputs[1] == W


def test_a_value_computed_elsewhere_becomes_an_input() -> None:
    (entry,) = carve(diamond(), ["b"]).inputs
    assert (entry.name, entry.spec, entry.role) == ("a", SPEC, Role.INPUT)


def test_provenance_says_which_nodes_of_which_graph() -> None:
    graph = diamond()
    options = dict(carve(graph, ["d", "b", "c"], kind="tail").provenance.options)
    assert options == {"graph": graph.id, "kind": "tail", "positions": "1,3-4"}


def test_the_order_of_the_names_does_not_matter() -> None:
    graph = diamond()
    assert carve(graph, ["c", "a"]) == carve(graph, ["a", "c"])


@pytest.mark.parametrize("names", [["a", "d"], ["a", "b", "d"]])
def test_a_set_with_a_gap_is_refused(names: list[str]) -> None:
    with pytest.raises(GraphError, match="between"):
        carve(diamond(), names)


def test_a_node_between_in_the_order_alone_is_no_gap() -> None:
    assert len(carve(diamond(), ["a", "b", "c", "d"]).nodes) == 4


def test_no_nodes_and_unknown_nodes_are_refused() -> None:
    with pytest.raises(GraphError, match="at least one"):
        carve(diamond(), [])
    with pytest.raises(GraphError, match="nobody"):
        carve(diamond(), ["nobody"])


def test_a_tuple_stays_with_who_takes_it_apart() -> None:
    half = TensorSpec((2, 3), "float32")
    nodes = (
        call("both", "split.Tensor", Ref("x"), 3, 1, result=(half, half)),
        Node("left", "operator.getitem", (Ref("both"), 0), result=half),
        Node("right", "operator.getitem", (Ref("both"), 1), result=half),
    )
    carver = Carver(Graph((X,), nodes, (Ref("left"), Ref("right"))))
    assert carver.carve(["both", "left", "right"]).output == (Ref("left"), Ref("right"))
    for part in (["both", "left"], ["left"]):
        with pytest.raises(GraphError):
            carver.carve(part)


def storage_graph() -> Graph:
    nodes = (
        call("base", "exp.default", Ref("x")),
        call("seen", "relu.default", Ref("base")),
        call("view", "view.default", Ref("base"), (6, 2), result=TensorSpec((6, 2), "float32")),
        call("write", "add_.Tensor", Ref("base"), 1.0),
        call("late", "relu.default", Ref("view"), result=TensorSpec((6, 2), "float32")),
    )
    return Graph((X,), nodes, (Ref("late"), Ref("seen")))


def test_a_write_between_two_reads_keeps_them_apart() -> None:
    with pytest.raises(GraphError, match="between"):
        carve(storage_graph(), ["seen", "late"])


def test_two_names_of_a_storage_that_changes_are_no_inputs() -> None:
    with pytest.raises(GraphError, match="shares its storage"):
        carve(storage_graph(), ["write", "late"])


def test_a_write_that_nobody_reads_is_given() -> None:
    piece = carve(storage_graph(), ["write"])
    assert piece.output == (Ref("write"),)


def test_nothing_is_cut_under_automatic_casting() -> None:
    enter = Node("enter", "torch.amp.autocast_mode._enter_autocast", ("cpu", None, True, None))
    leave = Node("leave", "torch.amp.autocast_mode._exit_autocast", (Ref("enter"),))
    relu = Node("relu", "torch.relu", (Ref("x"),), result=SPEC)
    with pytest.raises(GraphError, match="autocast"):
        carve(Graph((X,), (enter, relu, leave), Ref("relu")), ["relu"])


def test_symbols_and_constraints_that_a_piece_uses_are_kept() -> None:
    long = TensorSpec((Expr("S0"), 6), "float32")
    nodes = (
        call("a", "relu.default", Ref("x"), result=long),
        call("n", "sym_size.int", Ref("x"), 0, result=ScalarSpec("int", Expr("S0"))),
        call("b", "relu.default", Ref("y")),
        call("c", "view.default", Ref("a"), (Ref("n"), 6), result=long),
    )
    graph = Graph(
        (Input("x", long, Normal(0.0, 1.0)), Input("y", SPEC, Normal(0.0, 1.0))),
        nodes,
        (Ref("c"), Ref("b")),
        symbols=(Symbol("S0", 4), Symbol("S1", 5)),
        constraints=(Expr("S0 > 1"), Expr("S0 < S1")),
    )
    piece = carve(graph, ["c"])
    assert [symbol.name for symbol in piece.symbols] == ["S0"]
    assert piece.constraints == (Expr("S0 > 1"),)
    assert piece.inputs[1].recipe == Constant(4)
    assert carve(graph, ["b"]).symbols == ()


def test_equal_layers_are_one_graph() -> None:
    nodes = [call("n0", "linear.default", Ref("x"), Ref("w"))]
    for i in range(1, 6):
        nodes.append(call(f"n{i}", "relu.default", Ref(f"n{i - 1}")))
    graph = Graph((X, W), tuple(nodes), (Ref("n5"),))
    ids = {id_hash(carve(graph, [f"n{i}", f"n{i + 1}"])) for i in range(1, 5)}
    assert len(ids) == 1


def test_ranges() -> None:
    assert ranges([3]) == "3"
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_windows_of_a_model_compose_to_the_same_bits(name: str) -> None:
    graph = whole(name)
    pieces = windows(graph, 7)
    assert digest(run_pieces(graph, pieces[::-1])) == digest(run(graph))
    for piece in pieces:
        assert from_bytes(to_bytes(piece)) == piece


def windows(graph: Graph, length: int) -> list[Graph]:
    """Consecutive pieces, longer where a cut is not possible."""
    carver = Carver(graph)
    names = [node.name for node in graph.nodes]
    pieces, start = [], 0
    while start < len(names):
        for stop in range(min(start + length, len(names)), len(names) + 1):
            try:
                made = carver.carve(names[start:stop])
                if stop < len(names):
                    carver.carve(names[stop:])  # the rest must be possible too
            except GraphError:
                continue
            pieces.append(made)
            break
        start = stop
    return pieces


@given(st.integers(2, 25), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any_convex_set_is_found_convex(count: int, random: Any) -> None:
    """Against the definition: no way from inside to inside leads through outside."""
    nodes = []
    for i in range(count):
        sources = [f"n{random.randrange(i)}" if i and random.random() < 0.8 else "x" for _ in "ab"]
        nodes.append(call(f"n{i}", "add.Tensor", *map(Ref, sources)))
    graph = Graph((X,), tuple(nodes), (Ref(f"n{count - 1}"),))
    carver = Carver(graph)
    reach: list[set[int]] = [set() for _ in nodes]
    for i in range(count - 1, -1, -1):
        for j in carver.after[i]:
            reach[i] |= {j} | reach[j]
    chosen = {i for i in range(count) if random.random() < 0.5} or {0}
    between = any(
        o not in chosen and any(o in reach[i] for i in chosen) and reach[o] & chosen
        for o in range(count)
    )
    try:
        carver.carve([f"n{i}" for i in chosen])
        refused = False
    except GraphError:
        refused = True
    assert refused == bool(between)


def test_pieces_that_are_no_partition_are_refused() -> None:
    graph = diamond()
    carver = Carver(graph)
    first, rest = carver.carve(["a"]), carver.carve(["b", "c", "d"])
    with pytest.raises(GraphError, match="no piece"):
        sort_pieces(graph, [first, rest])
    with pytest.raises(GraphError, match="two pieces"):
        sort_pieces(graph, [first, carver.carve(["a", "b"]), rest, carver.carve(["e"])])


def test_pieces_that_need_one_another_are_refused() -> None:
    nodes = (
        call("a1", "relu.default", Ref("x")),
        call("b1", "exp.default", Ref("x")),
        call("a2", "relu.default", Ref("b1")),
        call("b2", "exp.default", Ref("a1")),
    )
    graph = Graph((X,), nodes, (Ref("a2"), Ref("b2")))
    pieces = [carve(graph, ["a1", "a2"]), carve(graph, ["b1", "b2"])]
    with pytest.raises(GraphError, match="depend on each other"):
        sort_pieces(graph, pieces)


def test_items_tell_apart_what_is_read_twice() -> None:
    nodes = (
        call("a", "addcmul.default", Ref("x"), Ref("y"), Ref("x")),
        call("b", "addcmul.default", Ref("x"), Ref("y"), Ref("y")),
        call("c", "addcmul.default", Ref("y"), Ref("x"), Ref("y")),
    )
    graph = Graph((X, Input("y", SPEC, Normal(0.0, 1.0))), nodes, (Ref("c"),))
    a, b, c = Carver(graph).items
    assert a == c != b
