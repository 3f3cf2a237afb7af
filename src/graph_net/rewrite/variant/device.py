"""Graphs without a device: where a graph runs is a property of the run."""

from __future__ import annotations

from dataclasses import replace

from graph_net.graph.devices import names_device, without_devices
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Node
from graph_net.graph.values import RunDevice
from graph_net.rewrite.variant.provenance import add_notes

_DEVICE_OPERATORS = ("cudnn", "miopen", "mkldnn", "mps_", "xpu", "_for_cpu", "cuda", "onednn")


def device_free(graph: Graph) -> Graph:
    """Return the graph with the device of the run wherever a call names one.

    Raise GraphError if an operator itself belongs to one kind of device: its twin elsewhere is
    another operator.
    """
    bound = [node for node in graph.nodes if _is_bound(node)]
    if bound:
        names = ", ".join(sorted({node.target for node in bound}))
        raise GraphError(f"calls operators of one device: {names}", node=bound[0].name)
    nodes = tuple(_without_device(node) for node in graph.nodes)
    return add_notes(replace(graph, nodes=nodes), device="free")


def _is_bound(node: Node) -> bool:
    return any(word in node.target for word in _DEVICE_OPERATORS) and node.target not in (
        "method:cuda",
        "builtins.getattr",
    )


def _without_device(node: Node) -> Node:
    target, args, kwargs = without_devices(node.target, node.args, node.kwargs)
    args = tuple(RunDevice() if names_device(value) else value for value in args)
    return replace(node, target=target, args=args, kwargs=kwargs)
