"""One Graph into consecutive pieces, each a Graph, that compose to the same outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from graph_net.graph.effects import changed_values, changes_autocast, mutated_arguments, storages
from graph_net.graph.graph import Graph
from graph_net.graph.values import Ref, refs
from graph_net.rewrite.piece_inputs import as_input, can_cross

PART = "piece"


def split(graph: Graph, pieces: int) -> list[Graph]:
    """The graph as at most so many pieces of about equal length, in order.

    A piece takes the values it reads and gives those that later pieces or the output read; the
    last one gives the graph's own output. Cuts move to the nearest place where they are possible;
    where there are too few such places there are fewer pieces.
    """
    if pieces < 1:
        raise ValueError(f"{pieces} pieces: at least one is needed")
    return cut_at(graph, cuts(graph, pieces))


def cuts(graph: Graph, pieces: int) -> list[int]:
    """Positions of nodes before which the graph can be cut into about equal pieces."""
    possible = cut_places(graph)
    count = len(graph.nodes)
    wanted = [round(count * i / pieces) for i in range(1, pieces)]
    chosen = {min(possible, key=lambda p: (abs(p - place), p)) for place in wanted if possible}
    return sorted(chosen)


def cut_places(graph: Graph) -> list[int]:
    """Every position at which all values that cross it can be inputs of a Graph of their own.

    A value must be a tensor or a number whose specification is known. Two values that share
    storage do not cross together where some call changes that storage: as tensors of their own
    they would no longer change together. Nothing is cut where automatic casting is switched on.
    """
    if any(changes_autocast(node) for node in graph.nodes):
        return []
    last = last_reads(graph)
    changed = changed_values(graph)
    groups = _groups(graph) if changed else {}
    leaving: defaultdict[int, list[str]] = defaultdict(list)
    blocked = 0  # values that cross and cannot be inputs
    shared: defaultdict[str, int] = defaultdict(int)  # how many of a changed storage cross
    crowded = 0
    places: list[int] = []

    def move(name: str, by: int) -> None:
        nonlocal blocked, crowded
        entry = graph.index[name]
        if not can_cross(entry):
            blocked += by
        if name in changed:
            before = shared[groups[name]]
            shared[groups[name]] += by
            crowded += (before + by > 1) - (before > 1)

    for entry in graph.inputs:
        if entry.name in last:
            move(entry.name, 1)
            leaving[last[entry.name]].append(entry.name)
    for position, node in enumerate(graph.nodes):
        if position and not blocked and not crowded:
            places.append(position)
        if last.get(node.name, -1) > position:
            move(node.name, 1)
            leaving[last[node.name]].append(node.name)
        for name in leaving.pop(position, ()):
            move(name, -1)
    return places


def _groups(graph: Graph) -> dict[str, str]:
    """For each value a representative of those that may share its storage."""
    writes = {
        i: changed for i, node in enumerate(graph.nodes) if (changed := mutated_arguments(node))
    }
    return storages(graph, writes)


def last_reads(graph: Graph) -> dict[str, int]:
    """For each value that is read the position of the last node that reads it.

    The graph's output reads at the position behind the last node.
    """
    found: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        for ref in node.refs:
            found[ref.name] = position
    for ref in refs(graph.output):
        found[ref.name] = len(graph.nodes)
    return found


def cut_at(graph: Graph, places: Sequence[int]) -> list[Graph]:
    """The pieces between these positions, each with the values it needs as inputs."""
    bounds = [0, *places, len(graph.nodes)]
    last = last_reads(graph)
    made = []
    for part, (start, stop) in enumerate(pairwise(bounds)):
        nodes = graph.nodes[start:stop]
        final = stop == len(graph.nodes)
        output = (
            graph.output
            if final
            else tuple(Ref(node.name) for node in nodes if last.get(node.name, -1) >= stop)
        )
        own = {node.name for node in nodes}
        reads = [ref.name for node in nodes for ref in node.refs]
        reads += [ref.name for ref in refs(output)]
        needed = {name for name in reads if name not in own}
        inputs = [entry for entry in graph.inputs if entry.name in needed]
        inputs += [as_input(graph, node) for node in graph.nodes[:start] if node.name in needed]
        origin = graph.provenance
        made.append(
            Graph(
                tuple(inputs),
                nodes,
                output,
                graph.level,
                graph.symbols,
                graph.constraints,
                origin,
            ).with_provenance(options=(*origin.options, (PART, part)))
        )
    return made
