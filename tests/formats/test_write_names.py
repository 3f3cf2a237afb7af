"""Whatever names and expressions a Graph may have, what is written reads back as the same."""

from __future__ import annotations

import builtins
import keyword
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.paddle_source import PADDLE_RESERVED
from graph_net.formats.graphnet.source import RESERVED
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import (
    Expr,
    Graph,
    GraphError,
    Input,
    Level,
    Node,
    Normal,
    Provenance,
    Ref,
    RunDevice,
    Symbol,
    TensorSpec,
)

AWKWARD = [
    *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "torch", "device", "inf", "nan",
    "pi", "e", "operator", "math", "forward", "GraphModule", "L_x_", "l_x_", "_operator_add",
    "setitem", "S0", "Symbol", "Eq", "Max", "Expr", "paddle", "out", "x", "f", "größe", "ﬁ", "ｔ",
    "K", "__debug__", "__class__", "__x", "_", "ª",
]  # fmt: skip
SYMBOLS = (Symbol("S0", 2), Symbol("größe", 5, 1, 9))
names = st.sampled_from(AWKWARD) | st.text(max_size=6)
pieces = st.lists(
    st.sampled_from(["S0", "größe", "1", "+", "*", "(", ")", " ", "#", "\n", "\\", ",", "Max",
                     "not", "None", "True", "if", "else", "\t", "\x0c", '"', "=", "<", "ﬁ"]),
    min_size=1, max_size=7,
)  # fmt: skip
texts = pieces.map("".join) | st.text(max_size=8)


def read_back(graph: Graph, device: str = "cpu") -> Graph:
    with tempfile.TemporaryDirectory() as folder:
        write_sample(graph, Path(folder) / "sample", device)
        return read_sample(Path(folder) / "sample")


def shape(graph: Graph) -> Graph:
    """The graph with its names replaced by numbers, to compare all the rest."""
    new = {name: f"v{i}" for i, name in enumerate(graph.index)}
    inputs = tuple(replace(entry, name=new[entry.name], local=None) for entry in graph.inputs)
    nodes = tuple(
        replace(
            node,
            name=new[node.name],
            args=tuple(Ref(new[a.name]) if isinstance(a, Ref) else a for a in node.args),
        )
        for node in graph.nodes
    )
    assert isinstance(graph.output, Ref)
    return replace(graph, inputs=inputs, nodes=nodes, output=Ref(new[graph.output.name]))


@settings(deadline=None, max_examples=300)
@given(first=names, second=names, third=names, local=st.none() | names)
def test_names_read_back(first: str, second: str, third: str, local: str | None) -> None:
    try:
        graph = Graph(
            (Input(first, TensorSpec((2, 3), "float32"), Normal(0.0, 1.0), local=local),),
            (
                Node(second, "torch.relu", (Ref(first),)),
                Node(third, "operator.add", (Ref(second), float("inf")), ()),
                Node("placed", "torch.zeros", (2,), (("device", RunDevice()), ("from", 1))),
            ),
            Ref(third),
            provenance=Provenance(model="m"),
        )
    except GraphError:
        return  # refused when it is built is refused in time
    again = read_back(graph)
    if RESERVED.isdisjoint({first, second, third, local}):
        assert replace(again, inputs=graph.inputs) == graph
        assert again.inputs[0].name == first
    assert shape(again) == shape(graph)


@settings(deadline=None, max_examples=100)
@given(first=names, second=names)
def test_names_of_paddle_graphs_read_back(first: str, second: str) -> None:
    try:
        graph = Graph(
            (Input(first, TensorSpec((2, 3), "float32"), Normal(0.0, 1.0)),),
            (Node(second, "paddle._C_ops.relu", (Ref(first),)),),
            Ref(second),
            Level.PADDLE,
            provenance=Provenance(model="m", framework="paddle"),
        )
    except GraphError:
        return
    again = read_back(graph)
    if PADDLE_RESERVED.isdisjoint({first, second}):
        assert list(again.index) == [first, second]
    assert [node.target for node in again.nodes] == [node.target for node in graph.nodes]


@settings(deadline=None, max_examples=400)
@given(size=texts, relation=texts)
def test_expressions_read_back(size: str, relation: str) -> None:
    try:
        dims = (Expr(size), 3)
        graph = Graph(
            (Input("x", TensorSpec(dims, "float32"), Normal(0.0, 1.0)),),
            (Node("y", "torch.relu", (Ref("x"),)),),
            Ref("y"),
            symbols=SYMBOLS,
            constraints=(Expr(relation), Expr("S0 <= größe")),
            provenance=Provenance(model="m"),
        )
        assert 0 <= dims[0].value(graph.bindings) < 1 << 30
    except (GraphError, AssertionError):
        return
    if not all(expr.symbols for expr in (dims[0], graph.constraints[0])):
        return  # in a file an expression without symbols is a number
    assert read_back(graph) == graph


@pytest.mark.parametrize(
    "text",
    ["S0 # + 1", "S0\n", "(S0\n+ 1)", "S0 \\\n + 1", "S0\t+ 1", "S0\x0c", "#", "None", "ﬁ", "S0\r"],
)
def test_an_expression_is_one_plain_line(text: str) -> None:
    with pytest.raises(GraphError):
        Expr(text)


@pytest.mark.parametrize("text", ["(S0 + 1)", "S0 + 1  ", "((S0 + 1))"])
def test_what_stands_around_an_expression_is_dropped(text: str) -> None:
    assert Expr(text) == Expr("S0 + 1")


@pytest.mark.parametrize("name", ["None", "match ", "__debug__", "ﬁ", "", "a-b", "a\n"])
def test_a_name_that_no_source_can_have_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="not a usable name"):
        Graph((), (Node(name, "torch.rand", (2,)),), None)


@pytest.mark.parametrize("name", ["Eq", "Max", "Symbol", "dynamic_dim_constraint_symbols"])
def test_a_symbol_that_means_something_else_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="is a reserved name"):
        Graph((), (), None, symbols=(Symbol(name, 2),))


@pytest.mark.parametrize("key", ["from", "None", "class"])
def test_a_keyword_of_pythons_own_reads_back(key: str) -> None:
    node = Node("y", "torch.rand", (2,), ((key, (1, Ref("x"))), ("dim", 0)))
    entry = Input("x", TensorSpec((2,), "float32"), Normal(0.0, 1.0))
    graph = Graph((entry,), (node,), Ref("y"), provenance=Provenance(model="m"))
    assert read_back(graph) == graph
