"""Dependences between calls beyond their arguments: mutation, random numbers, autocast.

Two nodes may be reordered only if neither reads what the other writes. Arguments show most of
that; the rest is here: a call that changes a tensor in place stays after the calls that read its
storage before it, and before those that read it later. Rules go by name, so that they are the
same on every torch version; where a result may share its argument's storage, they assume it does.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from graph_net.graph import paddle_rules
from graph_net.graph.graph import Graph, Level, Node
from graph_net.graph.operators import (
    ENTER_AUTOCAST,
    EXIT_AUTOCAST,
    Trait,
    base_name,
    names,
    positions,
)
from graph_net.graph.values import Ref, Value, refs

VIEWS = names(Trait.VIEW)
"""Calls whose result may share its argument's storage."""
_INPLACE_FLAGS = positions(Trait.INPLACE_FLAG)
_DROPOUTS = names(Trait.DROPOUT)
_RANDOM = names(Trait.RANDOM)
_IN_PLACE = names(Trait.IN_PLACE)
_RUNNING_STATISTICS = names(Trait.RUNNING_STATISTICS)


def mutated_arguments(node: Node) -> tuple[Value, ...]:
    """Return the arguments that a call changes in place."""
    if node.target.startswith(paddle_rules.PREFIX):
        return paddle_rules.mutated(node)
    base = base_name(node.target)
    args, changed = node.args or _self_keyword(node), []
    if not args:
        return tuple(value for key, value in node.kwargs if key == "out")
    inplace = base in _IN_PLACE
    if not node.target.startswith("operator."):
        inplace = inplace or (base[-1] == "_" and base[-2:] != "__")
    if not inplace and base in _INPLACE_FLAGS:
        inplace = argument(node, _INPLACE_FLAGS[base][0], "inplace") is True
    if inplace:
        changed.append(args[0])
    changed.extend(value for key, value in node.kwargs if key == "out")
    if base in _RUNNING_STATISTICS:
        aten = not node.target.startswith("torch.nn.functional.")
        training = argument(node, 5, "use_input_stats" if base == "instance_norm" else "training")
        if training is True or (base == "instance_norm" and training is None):
            changed.extend(args[3:5] if aten else args[1:3])
    return tuple(changed)


def _self_keyword(node: Node) -> tuple[Value, ...]:
    """Return the tensor that a call works on where it is passed by keyword."""
    return tuple(value for key, value in node.kwargs if key in ("input", "self"))


def argument(node: Node, position: int, name: str) -> Value:
    """Return an argument by position or keyword, or None if it is absent."""
    if position < len(node.args):
        return node.args[position]
    return next((value for key, value in node.kwargs if key == name), None)


def draws_random(node: Node) -> bool:
    """Return whether a call draws from the random generator."""
    if node.target.startswith(paddle_rules.PREFIX):
        return paddle_rules.draws_random(node)
    base = base_name(node.target)
    if base in _RANDOM:
        return True
    if base in _DROPOUTS:
        keyword = "training" if "functional" in node.target else "train"
        return argument(node, 2, keyword) in (True, None)
    if base == "scaled_dot_product_attention":
        return argument(node, 4, "dropout_p") not in (None, 0, 0.0)
    return base == "rrelu" and argument(node, 3, "training") is True


def changes_autocast(node: Node) -> bool:
    """Return whether a call switches autocast on."""
    return node.target == ENTER_AUTOCAST and argument(node, 2, "enabled") is not False


def effect_edges(graph: Graph) -> dict[int, tuple[int, ...]]:
    """Return, for each node with such dependences, the positions of the nodes it must follow."""
    writes = _writes(graph)
    random = [i for i, node in enumerate(graph.nodes) if draws_random(node)]
    casts = any(changes_autocast(node) for node in graph.nodes)
    if not writes and len(random) < 2 and not casts:
        return {}
    edges: defaultdict[int, list[int]] = defaultdict(list)
    for earlier, later in pairwise(random):
        edges[later].append(earlier)
    if writes:
        _storage_edges(graph, writes, edges)
    if casts:
        _autocast_edges(graph, edges)
    return {i: tuple(dict.fromkeys(before)) for i, before in edges.items() if before}


def _writes(graph: Graph) -> dict[int, tuple[Value, ...]]:
    """Return the arguments that each mutating node changes, by position."""
    changed = {i: mutated_arguments(node) for i, node in enumerate(graph.nodes)}
    return {i: values for i, values in changed.items() if values}


def _storage_edges(
    graph: Graph, writes: dict[int, tuple[Value, ...]], edges: defaultdict[int, list[int]]
) -> None:
    storage = storages(graph, writes)
    writer: dict[str, int] = {}
    readers: defaultdict[str, list[int]] = defaultdict(list)
    for i, node in enumerate(graph.nodes):
        written = {storage[ref.name] for value in writes.get(i, ()) for ref in refs(value)}
        touched = dict.fromkeys(storage[ref.name] for ref in node.refs)
        for memory in touched:
            if memory in writer:
                edges[i].append(writer[memory])
            if memory in written:
                edges[i].extend(readers.pop(memory, ()))
                writer[memory] = i
            else:
                readers[memory].append(i)


def changed_values(graph: Graph) -> frozenset[str]:
    """Return the names of the values whose storage a later call may overwrite."""
    writes = _writes(graph)
    if not writes:
        return frozenset()
    storage = storages(graph, writes)
    written = {storage[ref.name] for values in writes.values() for ref in refs(values)}
    return frozenset(name for name, memory in storage.items() if memory in written)


def storages(graph: Graph, writes: dict[int, tuple[Value, ...]]) -> dict[str, str]:
    """Return, for each value, a representative of those that may share its storage."""
    parent = {entry.name: entry.name for entry in graph.inputs}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    views = VIEWS | paddle_rules.VIEWS if graph.level is Level.PADDLE else VIEWS
    for i, node in enumerate(graph.nodes):
        parent[node.name] = node.name
        if node.args and (i in writes or base_name(node.target) in views):
            for ref in refs(node.args[0]):
                parent[root(ref.name)] = root(node.name)
    return {name: root(name) for name in parent}


def _autocast_edges(graph: Graph, edges: defaultdict[int, list[int]]) -> None:
    switch: int | None = None
    since: list[int] = []
    entered: set[str] = set()
    for i, node in enumerate(graph.nodes):
        if switch is not None:
            edges[i].append(switch)
        leaves = node.target == EXIT_AUTOCAST and any(
            isinstance(arg, Ref) and arg.name in entered for arg in node.args
        )
        if changes_autocast(node) or leaves:
            edges[i].extend(since)
            switch, since = i, []
            entered.add(node.name)
        else:
            since.append(i)
