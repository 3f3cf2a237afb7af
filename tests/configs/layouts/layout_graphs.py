"""Small graphs whose nodes have layouts to choose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from graph_net.graph import Graph, Input, Level, ListValue, Node, Normal, Ref, Role, TensorSpec
from graph_net.graph.execute import call_node, make_inputs
from graph_net.graph.graph import Provenance
from graph_net.graph.runtime import SymbolTable, spec_of

CPU = torch.device("cpu")


def tensor(name: str, *sizes: int, role: Role = Role.PARAMETER) -> Input:
    """An input of float32."""
    return Input(name, TensorSpec(sizes, "float32"), Normal(0.0, 1.0), role)


def real_values(graph: Graph) -> dict[str, Any]:
    """Run a graph and return the value of every node."""
    values = {e.name: v for e, v in zip(graph.inputs, make_inputs(graph), strict=True)}
    with torch.inference_mode():
        for node in graph.nodes:
            values[node.name] = call_node(node, values, CPU)
    return values


def with_specs(graph: Graph) -> Graph:
    """Give every node the spec of what it returns."""
    values, symbols = real_values(graph), SymbolTable()
    nodes = tuple(replace(n, result=spec_of(values[n.name], symbols)) for n in graph.nodes)
    return replace(graph, nodes=nodes)


def images_graph() -> Graph:
    """Convolutions with a residual, a view, a permutation and products; relu_ changes in place."""
    inputs = (
        tensor("x", 2, 3, 8, 8, role=Role.INPUT),
        tensor("w1", 4, 3, 3, 3),
        tensor("w2", 4, 4, 1, 1),
        tensor("w3", 6, 32),
        tensor("bias", 6),
    )
    pair = ListValue((1, 1))
    nodes = (
        Node("conv", "aten.conv2d.default", (Ref("x"), Ref("w1"), None, pair, pair)),
        Node("active", "aten.relu_.default", (Ref("conv"),)),
        Node("mixed", "aten.conv2d.default", (Ref("active"), Ref("w2"))),
        Node("total", "aten.add.Tensor", (Ref("active"), Ref("mixed"))),
        Node("flat", "aten.view.default", (Ref("total"), ListValue((2, 32, 8)))),
        Node("turned", "aten.permute.default", (Ref("flat"), ListValue((0, 2, 1)))),
        Node("line", "aten.linear.default", (Ref("turned"), Ref("w3"), Ref("bias"))),
        Node("swapped", "aten.transpose.int", (Ref("line"), 1, 2)),
        Node("product", "aten.matmul.default", (Ref("swapped"), Ref("line"))),
        Node("last", "aten.reshape.default", (Ref("product"), ListValue((2, 36)))),
    )
    origin = Provenance("test", "images", "computer_vision")
    return with_specs(
        Graph(inputs, nodes, (Ref("last"), Ref("total")), Level.ATEN, provenance=origin)
    )


def sequence_graph() -> Graph:
    """A convolution over a sequence, a batched product and a permutation."""
    inputs = (
        tensor("x", 2, 3, 12, role=Role.INPUT),
        tensor("w", 5, 3, 3),
        tensor("m", 2, 5, 4),
    )
    nodes = (
        Node("conv", "aten.conv1d.default", (Ref("x"), Ref("w"))),
        Node("turned", "aten.permute.default", (Ref("conv"), ListValue((0, 2, 1)))),
        Node("product", "aten.bmm.default", (Ref("turned"), Ref("m"))),
        Node("flat", "aten.flatten.using_ints", (Ref("product"), 1)),
    )
    origin = Provenance("test", "sequence", "audio")
    return with_specs(Graph(inputs, nodes, (Ref("flat"),), Level.ATEN, provenance=origin))
