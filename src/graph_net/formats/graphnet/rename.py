"""Renaming of values whose names the source of a sample uses itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from graph_net.graph.graph import Graph, Input, default_local
from graph_net.graph.values import Ref, Value, map_refs


def without_names(graph: Graph, needed: Collection[str]) -> Graph:
    """Return the graph with inputs and calls of these names renamed to longer ones."""
    taken = {*graph.index, *needed}
    new: dict[str, str] = {}
    for name in graph.index:
        if name in needed:
            longer = name
            while longer in taken or default_local(longer) in taken:
                longer += "_"
            taken.add(longer)
            new[name] = longer
    if not new and not any(entry.local in needed for entry in graph.inputs):
        return graph

    def ref(old: Ref) -> Value:
        return Ref(new.get(old.name, old.name))

    def rename(entry: Input) -> Input:
        local = None if entry.local in needed else entry.local
        return replace(entry, name=new.get(entry.name, entry.name), local=local)

    return replace(
        graph,
        inputs=tuple(map(rename, graph.inputs)),
        nodes=tuple(node.with_refs(ref, new.get(node.name)) for node in graph.nodes),
        output=map_refs(graph.output, ref),
    )
