"""The compact form: exact, and small where blocks repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from graph_net.graph import (
    Graph,
    GraphError,
    GraphLimits,
    Input,
    LimitExceeded,
    Literal,
    Node,
    Normal,
    Provenance,
    Ref,
    Role,
    TensorSpec,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from strategies import graphs

FEW = TensorSpec((4, 4), "float32")
X = Input("x", FEW, Normal(0.0, 1.0))
SMALL = Graph((X,), (Node("relu", "torch.relu", (Ref("x"),)),), Ref("x"))


def stack(layers: int, weights: bool = False) -> Graph:
    """A net of equal layers, with one weight for all or one for each."""
    shared = [Input("L_weight_", FEW, Normal(0.0, 1.0), Role.PARAMETER)]
    own = [
        Input(f"L_layers_{i}_weight_", FEW, Normal(0.0, 0.5 + i / 1000), Role.PARAMETER)
        for i in range(layers)
    ]
    nodes: list[Node] = []
    last = "L_x_"
    for i in range(layers):
        end = f"_{i}" if i else ""
        weight = f"L_layers_{i}_weight_" if weights else "L_weight_"
        nodes += [
            Node(f"linear{end}", "torch.nn.functional.linear", (Ref(last), Ref(weight))),
            Node(f"relu{end}", "torch.relu", (Ref(f"linear{end}"),), (), FEW),
            Node(f"view{end}", "method:view", (Ref(f"relu{end}"), 4, -1)),
            Node(f"add{end}", "operator.add", (Ref(f"view{end}"), Ref(last))),
        ]
        last = f"add{end}"
    inputs = (Input("L_x_", FEW, Normal(0.0, 1.0)), *(own if weights else shared))
    return Graph(inputs, tuple(nodes), (Ref(last),))


@given(graphs())
def test_a_graph_comes_back_exactly(graph: Graph) -> None:
    data = to_bytes(graph)
    again = from_bytes(data)
    assert again == graph
    assert to_json(again) == to_json(graph)  # equal numbers of different types would show here
    assert to_bytes(again) == data


@given(graphs())
def test_equal_graphs_give_equal_bytes(graph: Graph) -> None:
    assert to_bytes(from_json(to_json(graph))) == to_bytes(graph)


def test_repeated_blocks_are_stored_once() -> None:
    few, many = len(to_bytes(stack(2))), len(to_bytes(stack(100)))
    assert many < 2 * few + 64


def test_a_layer_with_weights_of_its_own_costs_a_few_bytes() -> None:
    few, many = len(to_bytes(stack(20, True))), len(to_bytes(stack(120, True)))
    assert (many - few) / 100 < 20


@pytest.mark.parametrize("weights", [False, True])
def test_ten_thousand_nodes_come_back(weights: bool) -> None:
    graph = stack(2_500, weights)
    data = to_bytes(graph)
    assert len(graph.nodes) == 10_000
    assert len(data) < len(to_json(graph)) / 15
    assert from_bytes(data) == graph


def test_a_value_read_from_afar_keeps_the_layers_equal() -> None:
    graph = stack(100)
    mask = Node("mask", "torch.relu", (Ref("L_x_"),))
    nodes = (
        mask,
        *(
            replace(node, args=(node.args[0], Ref("mask"))) if node.target[-3:] == "add" else node
            for node in graph.nodes
        ),
    )
    assert len(to_bytes(replace(graph, nodes=nodes))) < 2 * len(to_bytes(stack(2))) + 64
    assert from_bytes(to_bytes(replace(graph, nodes=nodes))).nodes == nodes


@pytest.mark.parametrize(
    "name",
    [
        lambda i: f"relu_{i}",
        lambda i: f"relu_{i * 7 % 5}_{i}",
        lambda i: f"relu_0{i}",
        lambda i: f"relu_{10**9 + i}",
        lambda i: f"relu{'_' * i}",
        lambda i: f"r{i}_{99 - i}_x",
        lambda i: f"größe_{i}٣",
    ],
)
def test_odd_names_come_back(name: Callable[[int], str]) -> None:
    nodes = tuple(Node(name(i), "torch.relu", (Ref("x"),)) for i in range(9))
    inputs = tuple(replace(X, name="in" + name(i)) for i in range(9))
    graph = Graph((X, *inputs), nodes, Ref("x"))
    assert from_bytes(to_bytes(graph)) == graph


@pytest.mark.parametrize(
    ("limits", "graph"),
    [
        (GraphLimits(bytes=50), stack(2)),
        (GraphLimits(nodes=7), stack(2)),
        (GraphLimits(inputs=1), stack(2)),
        (GraphLimits(atoms=10), stack(9)),
        (GraphLimits(depth=1), replace(SMALL, output=(((1,),),))),
        (GraphLimits(depth=1), replace(SMALL, nodes=(Node("a", "torch.relu", (), (), (((),),)),))),
        (GraphLimits(tensor_elements=15), stack(1)),
        (
            GraphLimits(literal=3),
            replace(SMALL, inputs=(replace(X, recipe=Literal((1, 2, 3, 4))),)),
        ),
    ],
    ids=["bytes", "nodes", "inputs", "atoms", "depth", "depth of results", "elements", "literal"],
)
def test_limits_hold(limits: GraphLimits, graph: Graph) -> None:
    data = to_bytes(graph)
    assert from_bytes(data) == graph
    with pytest.raises(LimitExceeded):
        from_bytes(data, limits)


def test_texts_have_a_limit() -> None:
    graph = replace(SMALL, provenance=Provenance(model="m" * 100))
    with pytest.raises(GraphError, match="text"):
        from_bytes(to_bytes(graph), GraphLimits(text=99))
