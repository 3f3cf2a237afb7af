"""Pieces without what tells them apart and means nothing: names of layers, names of models."""

from __future__ import annotations

import keyword
from collections import Counter
from dataclasses import replace

from graph_net.graph.graph import Graph, Node
from graph_net.graph.operators import base_name
from graph_net.graph.values import Ref, map_refs


def plain_names(graph: Graph) -> Graph:
    """The graph with values called by what they are: ``conv2d``, ``relu_1``, ``p_0``.

    Pieces that are equal but for their names become equal altogether, and are stored small.
    """
    names = {entry.name: f"{entry.role.value[0]}_{i}" for i, entry in enumerate(graph.inputs)}
    taken, seen = set(names.values()), Counter[str]()
    for node in graph.nodes:
        names[node.name] = _fresh(node, taken, seen)

    def change(ref: Ref) -> Ref:
        return Ref(names[ref.name])

    return replace(
        graph,
        inputs=tuple(
            replace(entry, name=names[entry.name], local=None, original=None)
            for entry in graph.inputs
        ),
        nodes=tuple(node.with_refs(change, names[node.name]) for node in graph.nodes),
        output=map_refs(graph.output, change),
    )


def _fresh(node: Node, taken: set[str], seen: Counter[str]) -> str:
    """A name as FX would give: the operator's, numbered from its second use on."""
    base = base_name(node.target).strip("_") or "value"
    if keyword.iskeyword(base) or not base.isidentifier():
        base = f"op_{base}" if f"op_{base}".isidentifier() else "value"
    while True:
        number = seen[base]
        seen[base] += 1
        name = f"{base}_{number}" if number else base
        if name not in taken:
            taken.add(name)
            return name
