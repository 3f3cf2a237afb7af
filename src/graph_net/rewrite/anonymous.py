"""Rename the values of a graph after its operators, so that equal pieces compare equal."""

from __future__ import annotations

import keyword
from collections import Counter
from dataclasses import replace

from graph_net.graph.graph import Graph, Node
from graph_net.graph.operators import base_name
from graph_net.graph.values import Ref, map_refs


def plain_names(graph: Graph) -> Graph:
    """Return the graph with values named after what they are: ``conv2d``, ``relu_1``, ``p_0``.

    Pieces that differ in names alone become equal, and are stored once.
    """
    names = {entry.name: f"{entry.role.value[0]}_{i}" for i, entry in enumerate(graph.inputs)}
    taken, counts = set(names.values()), Counter[str]()
    for node in graph.nodes:
        names[node.name] = _make_name(node, taken, counts)

    def rename(ref: Ref) -> Ref:
        return Ref(names[ref.name])

    return replace(
        graph,
        inputs=tuple(
            replace(entry, name=names[entry.name], local=None, original=None)
            for entry in graph.inputs
        ),
        nodes=tuple(node.with_refs(rename, names[node.name]) for node in graph.nodes),
        output=map_refs(graph.output, rename),
    )


def _make_name(node: Node, taken: set[str], counts: Counter[str]) -> str:
    """Return a name as FX would give: the operator's, numbered from its second use on."""
    base = base_name(node.target).strip("_") or "value"
    if keyword.iskeyword(base) or not base.isidentifier():
        base = f"op_{base}" if f"op_{base}".isidentifier() else "value"
    while True:
        number = counts[base]
        counts[base] += 1
        name = f"{base}_{number}" if number else base
        if name not in taken:
            taken.add(name)
            return name
