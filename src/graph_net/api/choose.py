"""Which graphs a call works on: one, some, a pack or samples, all of them or a part."""

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
_Selection = tuple[list[str], Iterator[tuple["Subject", bytes]]]


def chosen_graphs(
    graphs: Graphs, where: str | None = None, mini: bool = False, limit: int | None = None
) -> _Selection:
    """Return names in a fair order, and the graphs in that order."""
    from graph_net.corpus.pack import is_pack
    from graph_net.corpus.subjects import read_samples, read_subjects

    if isinstance(graphs, Graph | Sequence) and not isinstance(graphs, str):
        return _given(named_graphs(graphs), limit)
    if isinstance(graphs, Mapping) and not isinstance(graphs, Corpus):
        return _given(graphs, limit)
    chosen = graphs if isinstance(graphs, Corpus) else corpus(graphs)
    if chosen.path is not None and not is_pack(chosen.path):
        return read_samples(chosen.path, limit)
    chosen = chosen.where(where) if where else chosen
    chosen = chosen.mini() if mini else chosen
    names = list(chosen)[:limit]
    return names, read_subjects(chosen.pack, names)


def named_graphs(graphs: Graph | Sequence[Graph]) -> dict[str, Graph]:
    """Return graphs by the names of their models, numbered where two have the same."""
    found: dict[str, Graph] = {}
    for graph in [graphs] if isinstance(graphs, Graph) else graphs:
        origin = graph.provenance
        name = "/".join(filter(None, (origin.library, origin.model))) or "graph"
        free = name
        while free in found:
            free = f"{name}/{len(found)}"
        found[free] = graph
    return found


def named_graph(graph: Graph | str | Path) -> tuple[str, Graph]:
    """Return a graph with its name, itself or found by its place."""
    if not isinstance(graph, Graph):
        return open_graph(str(graph))
    ((name, found),) = named_graphs(graph).items()
    return name, found


def _given(graphs: Mapping[str, Graph], limit: int | None) -> _Selection:
    from graph_net.corpus.subjects import subject_of

    names = list(graphs)[:limit]
    return names, ((subject_of(name, graphs[name]), to_bytes(graphs[name])) for name in names)
