"""Calls under names that torch keeps: private ones become public ones, or ATen operators.

Dynamo writes what it finds, ``torch._C._nn.pad`` or ``torch._weight_norm``; such names come and go
with versions. Reading a graph already puts the public name where both are the same function; the
rest changes here, because it is another function that computes the same.
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
"""Calls that compute nothing; where nobody reads what they give they are left out."""


def is_private(target: str) -> bool:
    """Whether a name may go away: a part of it begins with one underscore.

    Operators registered with torch are no such names, whatever they are called.
    """
    if is_overload(target):
        return False
    parts = target.removeprefix("method:").split(".")
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


def private_names(graph: Graph) -> list[str]:
    """The private names that a graph calls, each once."""
    return sorted({node.target for node in graph.nodes if is_private(node.target)})


def to_public(graph: Graph) -> Graph:
    """The same computation without private names.

    Each call is renamed alone where it can be; a graph with one that cannot (autocast switched on
    for a region, a helper of ``torch.nn.functional``) is lowered to ATen as a whole.
    """
    if graph.level is not Level.TORCH or not private_names(graph):
        return graph
    read = {ref.name for node in graph.nodes for ref in node.refs}
    read |= {ref.name for ref in refs(graph.output)}
    kept = [n for n in graph.nodes if n.target not in _EMPTY or n.name in read]
    named = replace(graph, nodes=tuple(_renamed(node) for node in _without_unread(graph, kept)))
    return named if not private_names(named) else to_aten(graph)


def _without_unread(graph: Graph, kept: list[Node]) -> list[Node]:
    """Without comparisons that only a dropped check read."""
    before = {ref.name for node in graph.nodes for ref in node.refs}
    after = {ref.name for node in kept for ref in node.refs}
    after |= {ref.name for ref in refs(graph.output)}
    orphans = before - after
    return [n for n in kept if n.name not in orphans or not n.target.startswith("operator.")]


def _renamed(node: Node) -> Node:
    if not is_private(node.target):
        return node
    target = TWINS.get(node.target) or canonical_target(node.target)
    if is_private(target):
        target = _operator(target) or target
    return replace(node, target=target)


def _operator(target: str) -> str | None:
    """The ATen operator behind a function that torch generates from it."""
    name = f"aten.{target.rpartition('.')[2]}"
    try:
        found = resolve_overload(name)
    except UnknownTarget:
        return None
    return name if isinstance(found, OpOverloadPacket) and is_allowed(name) else None
