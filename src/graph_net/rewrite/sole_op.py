"""Every operator call by itself."""

from __future__ import annotations

from collections.abc import Iterable

from graph_net.graph.graph import Graph


def sole_op(graph: Graph) -> Iterable[list[str]]:
    """One group a call; what takes several results apart stays with the call that gives them."""
    groups: dict[str, list[str]] = {}
    several: set[str] = set()
    for node in graph.nodes:
        source = next((ref.name for ref in node.refs if ref.name in several), None)
        if source is not None and node.target.endswith("getitem"):
            groups[source].append(node.name)
            continue
        groups[node.name] = [node.name]
        if isinstance(node.result, tuple):
            several.add(node.name)
    return groups.values()
