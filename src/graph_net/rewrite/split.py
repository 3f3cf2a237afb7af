"""One Graph into consecutive pieces, each a Graph, that compose to the same outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch

from graph_net.graph.effects import changed_values, changes_autocast, mutated, storages
from graph_net.graph.errors import GraphError
from graph_net.graph.execute import interpret
from graph_net.graph.expr import Expr
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Normal, Recipe
from graph_net.graph.spec import ScalarSpec, Spec, TensorSpec
from graph_net.graph.values import Ref, refs

PART = "piece"


def split(graph: Graph, pieces: int) -> list[Graph]:
    """The graph as at most so many pieces of about equal length, in order.

    A piece takes the values it reads and gives those that later pieces or the output read; the
    last one gives the graph's own output. Cuts move to the nearest place where they are possible;
    where there are too few such places there are fewer pieces.
    """
    if pieces < 1:
        raise ValueError(f"{pieces} pieces: at least one is needed")
    return cut(graph, cuts(graph, pieces))


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
        if isinstance(entry, Node) and not isinstance(entry.result, (TensorSpec, ScalarSpec)):
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
    writes = {i: changed for i, node in enumerate(graph.nodes) if (changed := mutated(node))}
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


def cut(graph: Graph, places: Sequence[int]) -> list[Graph]:
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
        inputs += [_input(graph, node) for node in graph.nodes[:start] if node.name in needed]
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


def _input(graph: Graph, node: Node) -> Input:
    """A value of the whole graph as an input of a piece; its values are not known, so noise."""
    spec = node.result
    if not isinstance(spec, (TensorSpec, ScalarSpec)):
        raise GraphError("a value that is no tensor and no number crosses a cut", node=node.name)
    return Input(node.name, spec, _recipe(graph, spec))


def _recipe(graph: Graph, spec: Spec) -> Recipe:
    if isinstance(spec, ScalarSpec):
        known = spec.expr.value(graph.bindings) if isinstance(spec.expr, Expr) else 1
        return Constant({"int": int, "float": float, "bool": bool}[spec.kind](known))
    if spec.dtype == "bool":
        return Bernoulli()
    floating = "float" in spec.dtype or "complex" in spec.dtype
    return Normal(0.0, 1.0) if floating else Integers(0, 1)


def compose(
    pieces: Sequence[Graph], graph: Graph, inputs: Sequence[Any], device: torch.device
) -> Any:
    """What the pieces of a graph give one after another, on the whole graph's inputs.

    To be called in whatever mode is in force; each piece reads only the inputs it declares.
    """
    values = {entry.name: value for entry, value in zip(graph.inputs, inputs, strict=True)}
    result: Any = None
    for piece in pieces:
        result = interpret(piece, [values[entry.name] for entry in piece.inputs], device)
        if piece is not pieces[-1]:
            names = [ref.name for ref in refs(piece.output)]
            values.update(zip(names, result, strict=True))
    return result
