"""Replace private names of torch in calls by public ones or by ATen operators.

Dynamo records the names it finds, such as ``torch._C._nn.pad`` or ``torch._weight_norm``; private
names come and go with versions. Reading a graph already writes the public name where both name the
same function. The other names change here, to another function that computes the same.
"""

from __future__ import annotations

from dataclasses import replace

from torch._ops import OpOverloadPacket

from graph_net.graph.errors import UnknownTarget
from graph_net.graph.graph import Graph, Level, Node
from graph_net.graph.resolve import resolve_overload
from graph_net.graph.targets import canonical_target, is_allowed, is_overload
from graph_net.graph.values import refs
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.read_values import AUTOCAST, NO_COMPUTATION

TWINS = {
    "torch._C._nn.pad": "torch.nn.functional.pad",
    "method:_conj": "method:conj",
}
"""Public functions that take the same arguments and call the private one."""
_EMPTY = (NO_COMPUTATION - AUTOCAST) | {
    "torch._check",
    "torch._check_is_size",
    "torch._check_value",
    "torch._check_tensor_all",
    "torch._assert",
}
"""Calls that compute nothing; they are dropped if their result is not read."""


def is_private(target: str) -> bool:
    """Return whether a name may disappear: a part of it begins with one underscore.

    Operators registered with torch are not private, whatever they are called.
    """
    if is_overload(target):
        return False
    parts = target.removeprefix("method:").split(".")
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


def private_names(graph: Graph) -> list[str]:
    """Return the private names that a graph calls, each once."""
    return sorted({node.target for node in graph.nodes if is_private(node.target)})


def to_public(graph: Graph) -> Graph:
    """Return the same computation without private names.

    Each call is renamed alone if possible; a graph with one that cannot (autocast enabled for a
    region, a helper of ``torch.nn.functional``) is lowered to ATen as a whole.
    """
    if graph.level is not Level.TORCH or not private_names(graph):
        return graph
    read = {ref.name for node in graph.nodes for ref in node.refs}
    read |= {ref.name for ref in refs(graph.output)}
    remaining = [n for n in graph.nodes if n.target not in _EMPTY or n.name in read]
    nodes = tuple(_rename(node) for node in _without_unread(graph, remaining))
    renamed = replace(graph, nodes=nodes)
    return renamed if not private_names(renamed) else to_aten(graph)


def _without_unread(graph: Graph, remaining: list[Node]) -> list[Node]:
    """Return the nodes without comparisons that only a dropped check read."""
    before = {ref.name for node in graph.nodes for ref in node.refs}
    after = {ref.name for node in remaining for ref in node.refs}
    after |= {ref.name for ref in refs(graph.output)}
    orphans = before - after
    return [n for n in remaining if n.name not in orphans or not n.target.startswith("operator.")]


def _rename(node: Node) -> Node:
    if not is_private(node.target):
        return node
    target = TWINS.get(node.target) or canonical_target(node.target)
    if is_private(target):
        target = _operator(target) or target
    return replace(node, target=target)


def _operator(target: str) -> str | None:
    """Return the ATen operator behind a function that torch generates from it, or None."""
    name = f"aten.{target.rpartition('.')[2]}"
    try:
        operator = resolve_overload(name)
    except UnknownTarget:
        return None
    return name if isinstance(operator, OpOverloadPacket) and is_allowed(name) else None
