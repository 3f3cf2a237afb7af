"""Groups of calls that a compiler fuses into one kernel, by Inductor's own schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from graph_net.graph.graph import Graph, Node
from graph_net.rewrite.carve import Carver

LEAST = 2
"""A kernel with fewer calls is a single operator, which is another kind."""


def fusible(graph: Graph, device: str = "cpu") -> list[tuple[str, ...]]:
    """Return the groups of at least two calls that Inductor computes in one kernel each.

    A group is convex, in the graph's order, and not part of another. Calls that Inductor removes
    belong to a group if they lie inside it. Groups may overlap: cheap calls are computed in each
    kernel that needs them. If a kernel's calls are not convex in our graph (Inductor cuts finer
    than our calls), its convex parts are returned.
    """
    from graph_net.rewrite.scheduling import kernels

    carver = Carver(graph)
    scheduled = kernels(graph, device)
    free = _unscheduled(carver, scheduled)
    groups: dict[frozenset[int], None] = {}
    for kernel in scheduled:
        members = {carver.position[name] for name in kernel if name in carver.position}
        whole = _with_bundles(carver, _with_free(carver, members, free))
        for part in convex_parts(carver, whole):
            if len(part) >= LEAST:
                groups[frozenset(part)] = None
    return [tuple(graph.nodes[i].name for i in sorted(group)) for group in _maximal(groups)]


def _unscheduled(carver: Carver, kernels: Iterable[frozenset[str]]) -> set[int]:
    """Return the calls that no kernel computes."""
    scheduled = {name for kernel in kernels for name in kernel}
    return {i for name, i in carver.position.items() if name not in scheduled}


def _with_free(carver: Carver, members: set[int], free: set[int]) -> set[int]:
    """Return the members and the free calls on paths between them through free calls only."""
    if not members:
        return members

    def reach(edges: list[list[int]] | list[tuple[int, ...]]) -> set[int]:
        visited: set[int] = set()
        stack = [j for i in members for j in edges[i]]
        while stack:
            position = stack.pop()
            if position in free and position not in visited and first < position < last:
                visited.add(position)
                stack.extend(edges[position])
        return visited

    first, last = min(members), max(members)
    return members | (reach(carver.after) & reach(carver.before))


def _with_bundles(carver: Carver, members: set[int]) -> set[int]:
    """Return the members; a call with several results comes together with those that pick them.

    Several values at once cannot be an input or an output of a piece.
    """
    nodes, whole = carver.graph.nodes, set(members)
    for i in members:
        sources = [i] if isinstance(nodes[i].result, tuple) else []
        for name in carver.reads[i]:
            entry = carver.graph.index[name]
            if isinstance(entry, Node) and isinstance(entry.result, tuple):
                sources.append(carver.position[name])
        for source in sources:
            whole.add(source)
            whole.update(carver.readers.get(nodes[source].name, ()))
    return whole


def _maximal(groups: Collection[frozenset[int]]) -> Iterator[frozenset[int]]:
    """Yield the groups that are not part of another, in order."""
    holders: defaultdict[int, list[frozenset[int]]] = defaultdict(list)
    for group in groups:
        for i in group:
            holders[i].append(group)
    for group in groups:
        rarest = min((holders[i] for i in group), key=len)
        if not any(group < other for other in rarest):
            yield group


def convex_parts(carver: Carver, members: set[int]) -> Iterator[list[int]]:
    """Yield the members in the fewest layers such that no path leaves a layer and comes back to it.

    A layer counts how often paths from other members have left the set and come back. Positions
    are in ascending order.
    """
    if not members:
        return
    last = max(members)
    layer: dict[int, int] = {}
    for position in range(min(members), last + 1):
        before = [(j, layer[j]) for j in carver.before[position] if j in layer]
        if position in members:
            layer[position] = max((n + (j not in members) for j, n in before), default=0)
        elif before:
            layer[position] = max(n for _, n in before)
    for number in range(max(layer[i] for i in members) + 1):
        part = [i for i in sorted(members) if layer[i] == number]
        if part:
            yield part
