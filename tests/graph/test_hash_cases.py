"""What changes ``structure`` and ``id``, what ``id`` only, and what neither: case by case."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from graph_net.graph import (
    Constant,
    Dtype,
    Expr,
    Graph,
    Input,
    Level,
    ListValue,
    Node,
    Normal,
    Ref,
    RunDevice,
    ScalarSpec,
    Slice,
    Symbol,
    TensorSpec,
    Value,
)

X = Input("x", TensorSpec((4, 6), "float32"), Normal(0.0, 1.0))
Y = replace(X, name="y")
SINK = Input("sink", TensorSpec((), "float32"), Constant(0.0))


def graph(*nodes: Node, output: Value = None, inputs: tuple[Input, ...] = (X, Y)) -> Graph:
    return Graph(inputs, nodes, output if output is not None else (Ref(nodes[-1].name),))


def call(target: str, *args: Value, **kwargs: Value) -> Graph:
    return graph(Node("n", target, args, tuple(kwargs.items())))


def differing(a: Graph, b: Graph) -> set[str]:
    """Which of the two hashes tell these graphs apart."""
    return {name for name in ("structure", "id") if getattr(a, name) != getattr(b, name)}


BOTH, ID_ONLY, NEITHER = {"structure", "id"}, {"id"}, set[str]()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (call("torch.relu", Ref("x")), call("torch.relu", Ref("y")), BOTH),
        (call("torch.sub", Ref("x"), Ref("y")), call("torch.sub", Ref("y"), Ref("x")), BOTH),
        (call("torch.sub", Ref("x"), 1), call("torch.sub", Ref("x"), 2), BOTH),
        (call("torch.sub", Ref("x"), 1), call("torch.sub", Ref("x"), 1.0), BOTH),
        (call("torch.sub", Ref("x"), 1), call("torch.sub", Ref("x"), True), BOTH),
        (call("torch.sub", Ref("x"), 0.0), call("torch.sub", Ref("x"), -0.0), BOTH),
        (call("torch.sub", Ref("x"), "1"), call("torch.sub", Ref("x"), 1), BOTH),
        (call("torch.cat", (Ref("x"), Ref("y"))), call("torch.cat", Ref("x"), Ref("y")), BOTH),
        (call("torch.conv2d", stride=1), call("torch.conv2d", stride=2), BOTH),
        (call("torch.conv2d", stride=1), call("torch.conv2d", padding=1), BOTH),
        (call("torch.sum", Ref("x"), dim=-1), call("torch.sum", Ref("x"), dim=1), BOTH),
        (call("method:view", Ref("x"), 4, 6), call("method:view", Ref("x"), 8, 3), ID_ONLY),
        (call("method:view", Ref("x"), (4, 6)), call("method:view", Ref("x"), (8, 3)), ID_ONLY),
        (call("method:view", Ref("x"), 4, 6), call("method:view", Ref("x"), 2, 2, 6), BOTH),
        (call("method:view", Ref("x"), 24), call("method:view", Ref("x"), -1), BOTH),
        (call("method:reshape", Ref("x"), 24), call("method:reshape", Ref("x"), 12), ID_ONLY),
        (call("method:expand", Ref("x"), 2), call("method:expand", Ref("x"), 3), ID_ONLY),
        (call("torch.arange", 0, 5), call("torch.arange", 0, 9), ID_ONLY),
        (call("torch.zeros", ListValue((2, 3))), call("torch.zeros", ListValue((4, 3))), ID_ONLY),
        (call("torch.ones", size=(2,)), call("torch.ones", size=(3,)), ID_ONLY),
        (call("aten.slice.Tensor", Ref("x"), 0, 0, 4), call("aten.slice.Tensor", Ref("x"), 0, 1, 5),
         ID_ONLY),
        (call("aten.slice.Tensor", Ref("x"), 0, 0, 4), call("aten.slice.Tensor", Ref("x"), 1, 0, 4),
         BOTH),
        (call("operator.getitem", Ref("x"), Slice(0, 4, None)),
         call("operator.getitem", Ref("x"), Slice(1, 5, None)), ID_ONLY),
        (call("operator.getitem", Ref("x"), Slice(0, 4, None)),
         call("operator.getitem", Ref("x"), Slice(0, 4, 2)), BOTH),
        (call("operator.getitem", Ref("x"), 0), call("operator.getitem", Ref("x"), 1), BOTH),
        (call("method:to", Ref("x"), Dtype("float16")), call("method:to", Ref("x"), Dtype("int8")),
         ID_ONLY),
        (call("torch.sum", Ref("x"), dtype=Dtype("int8")), call("torch.sum", Ref("x"), dtype=None),
         BOTH),
        (call("method:to", Ref("x"), RunDevice()), call("method:to", Ref("x"), Dtype("bool")),
         BOTH),
        (call("torch.sum", dim=1, keepdim=True), call("torch.sum", keepdim=True, dim=1), NEITHER),
        (call("torch.cat", (Ref("x"),)), call("torch.cat", ListValue((Ref("x"),))), NEITHER),
        (call("aten.relu.default", Ref("x")),
         replace(call("aten.relu.default", Ref("x")), level=Level.ATEN), BOTH),
    ],
    ids=count(),
)  # fmt: skip
def test_what_counts_as_structure_and_what_as_size(
    one: Graph, other: Graph, expected: set[str]
) -> None:
    assert differing(one, other) == expected


def relu(name: str, of: str) -> Node:
    return Node(name, "torch.relu", (Ref(of),))


def pair(of: str, and_of: str) -> Node:
    return Node("pair", "torch.add", (Ref(of), Ref(and_of)))


def test_a_shared_value_differs_from_two_equal_ones() -> None:
    shared = graph(relu("a", "x"), relu("b", "x"), pair("a", "a"))
    doubled = graph(relu("a", "x"), relu("b", "x"), pair("a", "b"))
    assert differing(shared, doubled) == BOTH
    assert differing(graph(relu("a", "x"), pair("a", "a")), doubled) == BOTH


def test_an_unused_node_counts() -> None:
    assert differing(graph(relu("a", "x")), graph(relu("b", "y"), relu("a", "x"))) == BOTH


@pytest.mark.parametrize("output", [(Ref("b"), Ref("a")), (Ref("a"),), ((Ref("a"),), Ref("b"))])
def test_the_output_counts_with_its_order_and_nesting(output: Value) -> None:
    nodes = (relu("a", "x"), relu("b", "y"))
    assert (
        differing(graph(*nodes, output=(Ref("a"), Ref("b"))), graph(*nodes, output=output)) == BOTH
    )


def test_the_order_of_inputs_counts() -> None:
    node = relu("a", "x")
    assert differing(graph(node), graph(node, inputs=(Y, X))) == BOTH


def test_an_example_value_of_a_symbol_is_a_size() -> None:
    x = replace(X, spec=TensorSpec((Expr("S0"), 6), "float32"))
    one = replace(call("torch.relu", Ref("x")), inputs=(x, Y), symbols=(Symbol("S0", 4),))
    assert differing(one, call("torch.relu", Ref("x"))) == NEITHER
    assert differing(one, replace(one, symbols=(Symbol("S0", 5),))) == ID_ONLY


def test_a_number_that_is_passed_in_is_a_size() -> None:
    number = Input("n", ScalarSpec("int"), Constant(4))
    one = graph(relu("a", "x"), inputs=(X, number))
    other = graph(relu("a", "x"), inputs=(X, replace(number, recipe=Constant(5))))
    assert differing(one, other) == ID_ONLY


# -- mutation, random numbers, autocast -------------------------------------------------------

WRITE = Node("write", "method:add_", (Ref("x"), 1))
READ = relu("read", "x")
DRAW, DRAW_MORE = Node("draw", "torch.rand", (3,)), Node("more", "torch.randn", (3,))
ENTER = Node("enter", "torch.amp.autocast_mode._enter_autocast", (RunDevice(True), None, True))
LEAVE = Node("leave", "torch.amp.autocast_mode._exit_autocast", (Ref("enter"),))
VIEW = Node("view", "method:view", (Ref("x"), -1))
WRITE_VIEW = Node("write", "method:add_", (Ref("view"), 1))
ELSEWHERE = relu("elsewhere", "y")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((READ, WRITE), (WRITE, READ), BOTH),
        ((VIEW, READ, WRITE_VIEW), (VIEW, WRITE_VIEW, READ), BOTH),
        ((DRAW, DRAW_MORE), (DRAW_MORE, DRAW), BOTH),
        ((ENTER, READ, LEAVE), (READ, ENTER, LEAVE), BOTH),
        ((ENTER, READ, LEAVE), (ENTER, LEAVE, READ), BOTH),
        ((ELSEWHERE, WRITE), (WRITE, ELSEWHERE), NEITHER),
        ((DRAW, READ), (READ, DRAW), NEITHER),
        ((READ, ELSEWHERE), (ELSEWHERE, READ), NEITHER),
    ],
)
def test_effects_fix_an_order_where_they_meet(
    one: tuple[Node, ...], other: tuple[Node, ...], expected: set[str]
) -> None:
    output = tuple(Ref(node.name) for node in one)
    assert differing(graph(*one, output=output), graph(*other, output=output)) == expected
