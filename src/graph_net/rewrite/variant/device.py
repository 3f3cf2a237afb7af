"""Graphs that name no device: where a graph runs is a property of the run."""

from __future__ import annotations

from dataclasses import replace

from graph_net.graph.devices import names_device, without_devices
from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Node
from graph_net.graph.values import RunDevice, Value, items_of
from graph_net.rewrite.variant.provenance import add_notes

_DEVICE_OPERATORS = ("cudnn", "miopen", "mkldnn", "mps_", "xpu", "_for_cpu", "cuda", "onednn")


def device_free(graph: Graph) -> Graph:
    """The graph with the device of the run wherever a call names one.

    Refused where an operator itself belongs to one kind of device: its twin elsewhere is another
    operator.
    """
    bound = [node for node in graph.nodes if _is_bound(node)]
    if bound:
        names = ", ".join(sorted({node.target for node in bound}))
        raise GraphError(f"calls operators of one device: {names}", node=bound[0].name)
    return add_notes(
        replace(graph, nodes=tuple(_freed(node) for node in graph.nodes)), device="free"
    )


def _is_bound(node: Node) -> bool:
    return any(word in node.target for word in _DEVICE_OPERATORS) and node.target not in (
        "method:cuda",
        "builtins.getattr",
    )


def _freed(node: Node) -> Node:
    target, args, kwargs = without_devices(node.target, node.args, node.kwargs)
    return replace(
        node,
        target=target,
        args=tuple(_without(value) for value in args),
        kwargs=kwargs,
    )


def _without(value: Value) -> Value:
    return RunDevice() if names_device(value) else value


def names_devices(graph: Graph) -> list[str]:
    """The calls that name a device, or are one device's own."""
    return [
        node.name
        for node in graph.nodes
        if _is_bound(node)
        or any(_named(value) for value in (*node.args, *(value for _, value in node.kwargs)))
    ]


def _named(value: Value) -> bool:
    return names_device(value) or any(_named(item) for item in items_of(value))
