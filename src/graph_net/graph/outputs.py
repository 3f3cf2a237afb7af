"""Helpers for runs of any framework: flat outputs, and the last use of each value."""

from __future__ import annotations

from typing import Any

from graph_net.graph.graph import Graph
from graph_net.graph.values import refs


def flat_outputs(outputs: Any) -> list[Any]:
    """Return the tensors and numbers of a nested output, left to right."""
    if isinstance(outputs, (list, tuple)):
        return [leaf for item in outputs for leaf in flat_outputs(item)]
    if isinstance(outputs, dict):
        return [leaf for item in outputs.values() for leaf in flat_outputs(item)]
    return [outputs]


def last_uses(graph: Graph) -> list[list[str]]:
    """Return, for each node, the values that nothing reads after it."""
    read_later = {ref.name for ref in refs(graph.output)}
    released: list[list[str]] = [[] for _ in graph.nodes]
    for position in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[position]
        for name in (node.name, *(ref.name for ref in node.refs)):
            if name not in read_later:
                read_later.add(name)
                released[position].append(name)
    return released
