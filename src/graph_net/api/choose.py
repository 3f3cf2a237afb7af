"""Choose the graphs of a call: one, some, a pack or samples, all of them or a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.corpus import Corpus, corpus
from graph_net.api.graphs import open_graph
from graph_net.graph import Graph, to_bytes

if TYPE_CHECKING:
    from graph_net.results import Subject

Graphs = Graph | Corpus | Mapping[str, Graph] | Sequence[Graph] | str | Path | None
"""A graph, several, by name, a pack or samples, or None for the corpus of GraphNet."""
GraphSelection = tuple[list[str], Iterator[tuple["Subject", bytes]]]


def chosen_graphs(
    graphs: Graphs, where: str | None = None, mini: bool = False, limit: int | None = None
) -> GraphSelection:
    """Return names in a fair order, and the graphs in that order."""
    from graph_net.corpus.pack import is_pack
    from graph_net.corpus.subjects import read_samples, read_subjects

    if isinstance(graphs, Graph | Sequence) and not isinstance(graphs, str):
        return _from_memory(named_graphs(graphs), limit)
    if isinstance(graphs, Mapping) and not isinstance(graphs, Corpus):
        return _from_memory(graphs, limit)
    chosen = graphs if isinstance(graphs, Corpus) else corpus(graphs)
    if chosen.path is not None and not is_pack(chosen.path):
        return read_samples(chosen.path, limit)
    chosen = chosen.where(where) if where else chosen
    chosen = chosen.mini() if mini else chosen
    names = list(chosen)[:limit]
    return names, read_subjects(chosen.pack, names)


def named_graphs(graphs: Graph | Sequence[Graph]) -> dict[str, Graph]:
    """Return graphs by the names of their models, numbered if two have the same."""
    named: dict[str, Graph] = {}
    for graph in [graphs] if isinstance(graphs, Graph) else graphs:
        origin = graph.provenance
        name = "/".join(filter(None, (origin.library, origin.model))) or "graph"
        free = name
        while free in named:
            free = f"{name}/{len(named)}"
        named[free] = graph
    return named


def named_graph(graph: Graph | str | Path) -> tuple[str, Graph]:
    """Return a graph with its name; open it if it is a path."""
    if not isinstance(graph, Graph):
        return open_graph(str(graph))
    (name,) = named_graphs(graph)
    return name, graph


def _from_memory(graphs: Mapping[str, Graph], limit: int | None) -> GraphSelection:
    from graph_net.corpus.subjects import subject_of

    names = list(graphs)[:limit]
    return names, ((subject_of(name, graphs[name]), to_bytes(graphs[name])) for name in names)
