"""A Graph that exists is well formed: every illegal one is refused, with the place named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import pytest

from graph_net.graph import (
    Constant,
    DictValue,
    Expr,
    Graph,
    GraphError,
    Input,
    Integers,
    Level,
    ListValue,
    Literal,
    Node,
    Normal,
    Provenance,
    Ref,
    Role,
    ScalarSpec,
    Slice,
    Symbol,
    TensorSpec,
    UnknownTarget,
    Value,
)
from graph_net.graph.checks import check_sizes
from graph_net.graph.limits import GraphLimits

X = Input("x", TensorSpec((2, Expr("S0")), "float32"), Normal(0.0, 1.0))
RELU = Node("relu", "torch.relu", (Ref("x"),))
GOOD = Graph((X,), (RELU,), Ref("relu"), symbols=(Symbol("S0", 3),))


def with_node(node: Node) -> Graph:
    return replace(GOOD, nodes=(RELU, node))


def with_input(**changes: object) -> Graph:
    return replace(GOOD, inputs=(X, replace(X, name="y", **changes)))  # type: ignore[arg-type]


def refusal(build: Callable[..., object], *args: object) -> GraphError:
    with pytest.raises(GraphError) as caught:
        build(*args)
    return caught.value


@pytest.mark.parametrize(
    ("node", "field"),
    [
        (Node("1st", "torch.relu"), "name"),
        (Node("for", "torch.relu"), "name"),
        (Node("a.b", "torch.relu"), "name"),
        (Node("", "torch.relu"), "name"),
        (Node("x", "torch.relu"), "name"),
        (Node("relu", "torch.relu"), "name"),
        (Node("a", "torch.load", ("file",)), "target"),
        (Node("a", "torch.relu", (Ref("a"),)), "args"),
        (Node("a", "torch.relu", (Ref("later"),)), "args"),
        (Node("a", "torch.cat", (ListValue((Ref("x"), Ref("later"))),)), "args"),
        (Node("a", "torch.relu", (DictValue((("k", Slice(None, Ref("b"), None)),)),)), "args"),
        (Node("a", "torch.relu", (), (("input", Ref("later")),)), "kwargs"),
        (Node("a", "torch.relu", (), (("not a word", 1),)), "kwargs"),
        (Node("a", "torch.relu", (), (("dim", 1), ("dim", 2))), "kwargs"),
        (Node("a", "torch.relu", (1 << 65,)), "args"),
        (Node("a", "torch.relu", ("\ud800",)), "args"),
        (Node("a", "torch.relu", (), (("text", "x" * 70_000),)), "kwargs"),
        (Node("a", "torch.relu", ([1, 2],)), "args"),  # type: ignore[arg-type]
        (Node("a", "torch.relu", (b"bytes",)), "args"),  # type: ignore[arg-type]
        (Node("a", "torch.relu", [Ref("x")]), "args"),  # type: ignore[arg-type]
        (Node("a", "builtins.getattr", (Ref("x"), "__class__")), "args"),
        (Node("a", "builtins.getattr", (Ref("x"), Ref("x"))), "args"),
        (Node("a", "builtins.getattr", (Ref("x"), "shape", None)), "args"),
        (Node("a", "torch.relu", (Ref("x"),), (), TensorSpec((Expr("S9"),), "int8")), "result"),
        (Node("a", "torch.relu", (), (), (None, ScalarSpec("int", Expr("S9")))), "result"),
        (Node("a", "torch.relu", (), (), "float32"), "result"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_an_illegal_node_is_refused_by_name_and_field(node: Node, field: str) -> None:
    error = refusal(with_node, node)
    assert (error.node, error.field) == (node.name, field)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"local": "not a word"}, "local"),
        ({"local": "class"}, "local"),
        ({"original": "\udfff"}, "original"),
        ({"spec": TensorSpec((Expr("S0 + S9"),), "float32")}, "spec"),
        ({"spec": TensorSpec((4,), "float32", (Expr("S9"),))}, "spec"),
        ({"spec": None}, "spec"),
        ({"spec": (TensorSpec((), "float32"),)}, "spec"),
        ({"recipe": Integers(0, 1 << 70)}, "recipe"),
        ({"recipe": Constant(-(1 << 70))}, "recipe"),
        ({"recipe": Literal((0, 1 << 70))}, "recipe"),
        ({"recipe": Literal((0,) * 70_000)}, "recipe"),
        ({"recipe": None}, "recipe"),
    ],
)
def test_an_illegal_input_is_refused_by_name_and_field(
    changes: dict[str, object], field: str
) -> None:
    error = refusal(lambda: with_input(**changes))
    assert (error.node, error.field) == ("y", field)


def test_two_inputs_of_one_name_are_refused() -> None:
    error = refusal(lambda: replace(GOOD, inputs=(X, X)))
    assert (error.node, error.field) == ("x", "name")


@pytest.mark.parametrize(
    "symbol",
    [
        Symbol("S0", 2),
        Symbol("S 1", 2),
        Symbol("S1", 1 << 65),
        Symbol("S1", 2, low=True),
        Symbol("S1", 2, high=1 << 65),
        Symbol("S1", None),  # type: ignore[arg-type]
    ],
)
def test_an_illegal_symbol_is_refused_by_name(symbol: Symbol) -> None:
    error = refusal(lambda: replace(GOOD, symbols=(*GOOD.symbols, symbol)))
    assert error.node == symbol.name


def test_a_constraint_uses_declared_symbols() -> None:
    error = refusal(lambda: replace(GOOD, constraints=(Expr("S0 < S9"),)))
    assert error.field == "constraints"
    assert "S9" in str(error)


@pytest.mark.parametrize("output", [Ref("nowhere"), (1, Ref("nowhere")), 1 << 70, [1]])
def test_an_illegal_output_is_refused(output: Value) -> None:
    assert refusal(lambda: replace(GOOD, output=output)).field == "output"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"options": (("key", Ref("x")),)}, "options"),
        ({"options": (("key", (1 << 70,)),)}, "options"),
        ({"options": (("\ud800", 1),)}, "options"),
        ({"model": "\ud800"}, "model"),
        ({"library": "x" * 70_000}, "library"),
        ({"tags": (3,)}, "tags"),
    ],
)
def test_illegal_provenance_is_refused(changes: dict[str, object], field: str) -> None:
    assert refusal(lambda: GOOD.with_provenance(**changes)).field == field


def test_nesting_has_an_end() -> None:
    value: Value = Ref("x")
    for _ in range(50):
        value = (value,)
    error = refusal(with_node, Node("a", "torch.relu", (value,)))
    assert (error.node, error.field) == ("a", "args")


@pytest.mark.parametrize(
    ("shape", "stride", "field"),
    [
        ((-1,), None, "shape"),
        ((1 << 63,), None, "shape"),
        ((2.0,), None, "shape"),
        ((True,), None, "shape"),
        ((1,) * 65, None, "shape"),
        ((2,), (-1,), "stride"),
        ((2, 3), (1,), "stride"),
        ((2,), ("S0",), "stride"),
    ],
)
def test_an_illegal_specification_is_refused(
    shape: tuple[int, ...], stride: tuple[int, ...] | None, field: str
) -> None:
    assert refusal(TensorSpec, shape, "float32", stride).field == field


def test_unknown_dtypes_and_kinds_are_refused() -> None:
    assert refusal(TensorSpec, (), "float33").field == "dtype"
    assert refusal(ScalarSpec, "decimal").field == "spec"


def test_an_unknown_target_has_an_error_of_its_own() -> None:
    with pytest.raises(UnknownTarget, match=r"torch\.load.*node a, field target"):
        with_node(Node("a", "torch.load"))


def test_a_graph_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        GOOD.level = Level.ATEN  # type: ignore[misc]


def test_sizes_are_counted_at_the_example_values() -> None:
    assert GOOD.bindings == {"S0": 3}
    assert GOOD.tensor_bytes == 2 * 3 * 4
    assert GOOD.parameters == 0
    assert with_input(role=Role.PARAMETER).parameters == 6


def test_inputs_and_nodes_are_found_by_name() -> None:
    assert GOOD.index["x"] is X
    assert GOOD.index["relu"] is RELU


def test_options_have_one_order() -> None:
    swapped = Provenance(options=(("b", 1), ("a", 2)))
    assert swapped == Provenance(options=(("a", 2), ("b", 1)))
    assert swapped.option("b") == 1
    assert swapped.option("c", "none") == "none"


def test_a_tensor_that_is_too_large_is_refused_where_bytes_come_in() -> None:
    error = refusal(check_sizes, GOOD, GraphLimits(tensor_elements=5))
    assert (error.node, error.field) == ("x", "shape")


def test_a_size_without_a_value_is_refused_where_bytes_come_in() -> None:
    graph = replace(GOOD, symbols=(Symbol("S0", -1),))
    error = refusal(check_sizes, graph, GraphLimits())
    assert (error.node, error.field) == ("x", "shape")


def test_a_graph_at_level_aten_calls_atens_operators_only() -> None:
    x = Input("x", TensorSpec((2,), "float32"), Normal(0.0, 1.0))
    node = Node("y", "torch.relu", (Ref("x"),))
    with pytest.raises(
        GraphError, match=r"torch\.relu is not an ATen operator.*node y, field target"
    ):
        Graph((x,), (node,), Ref("y"), Level.ATEN)
