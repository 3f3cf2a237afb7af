"""Split a Graph into consecutive pieces, each a Graph, that compose to the same outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from graph_net.graph.effects import changed_values, changes_autocast, mutated_arguments, storages
from graph_net.graph.graph import Graph
from graph_net.graph.values import Ref, Value, refs
from graph_net.rewrite.piece_inputs import as_input, can_cross

PART = "piece"


def split(graph: Graph, pieces: int) -> list[Graph]:
    """Return the graph as at most this many pieces of about equal length, in order.

    A piece takes the values it reads and returns those that later pieces or the output read; the
    last one returns the graph's own output. Cuts move to the nearest possible position; if there
    are too few, there are fewer pieces.
    """
    if pieces < 1:
        raise ValueError(f"cannot split into {pieces} pieces; ask for 1 or more")
    return cut_at(graph, choose_cuts(graph, pieces))


def choose_cuts(graph: Graph, pieces: int) -> list[int]:
    """Return positions of nodes before which to cut into about equal pieces."""
    possible = cut_positions(graph)
    count = len(graph.nodes)
    wanted = [round(count * i / pieces) for i in range(1, pieces)]
    chosen = {min(possible, key=lambda p: (abs(p - ideal), p)) for ideal in wanted if possible}
    return sorted(chosen)


def cut_positions(graph: Graph) -> list[int]:
    """Return every position at which all values that cross it can be inputs of a Graph.

    A value must be a tensor or a number whose specification is known. Two values that share storage
    do not cross together if some call changes that storage: as tensors of their own they would no
    longer change together. A graph that enables autocast is not cut.
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
    positions: list[int] = []

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
            positions.append(position)
        if last.get(node.name, -1) > position:
            move(node.name, 1)
            leaving[last[node.name]].append(node.name)
        for name in leaving.pop(position, ()):
            move(name, -1)
    return positions


def _groups(graph: Graph) -> dict[str, str]:
    """Return for each value a representative of those that may share its storage."""
    writes = {
        i: changed for i, node in enumerate(graph.nodes) if (changed := mutated_arguments(node))
    }
    return storages(graph, writes)


def last_reads(graph: Graph) -> dict[str, int]:
    """Return the position of the last node that reads each value.

    The graph's output reads at the position behind the last node.
    """
    last: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        for ref in node.refs:
            last[ref.name] = position
    for ref in refs(graph.output):
        last[ref.name] = len(graph.nodes)
    return last


def cut_at(graph: Graph, positions: Sequence[int]) -> list[Graph]:
    """Return the pieces between these positions, each with the values it needs as inputs."""
    bounds = [0, *positions, len(graph.nodes)]
    last = last_reads(graph)
    pieces = []
    for part, (start, stop) in enumerate(pairwise(bounds)):
        nodes = graph.nodes[start:stop]
        output: Value = tuple(Ref(node.name) for node in nodes if last.get(node.name, -1) >= stop)
        if stop == len(graph.nodes):
            output = graph.output
        own = {node.name for node in nodes}
        reads = [ref.name for node in nodes for ref in node.refs]
        reads += [ref.name for ref in refs(output)]
        needed = {name for name in reads if name not in own}
        inputs = [entry for entry in graph.inputs if entry.name in needed]
        inputs += [as_input(graph, node) for node in graph.nodes[:start] if node.name in needed]
        piece = replace(graph, inputs=tuple(inputs), nodes=nodes, output=output)
        options = (*graph.provenance.options, (PART, part))
        pieces.append(piece.with_provenance(options=options))
    return pieces
