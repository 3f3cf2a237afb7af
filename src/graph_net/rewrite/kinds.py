"""The kinds of subgraphs, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from graph_net.graph.graph import Graph
from graph_net.rewrite.blocks import block
from graph_net.rewrite.fusible import fusible
from graph_net.rewrite.task import task
from graph_net.rewrite.typical import Typical

SubgraphKind: TypeAlias = Callable[[Graph], Iterable[Sequence[str]]]
"""Returns the groups of nodes, by name, that a graph falls into; each makes a subgraph."""


def sole_op(graph: Graph) -> Iterable[list[str]]:
    """Return one group per call; a node that picks one of several results stays with their call."""
    groups: dict[str, list[str]] = {}
    several: set[str] = set()
    for node in graph.nodes:
        source = next((ref.name for ref in node.refs if ref.name in several), None)
        if source is not None and node.target.endswith("getitem"):
            groups[source].append(node.name)
            continue
        groups[node.name] = [node.name]
        if isinstance(node.result, tuple):
            several.add(node.name)
    return groups.values()


KINDS: dict[str, SubgraphKind] = {
    "sole_op": sole_op,
    "task": task,
    "block": block,
    "fusible": fusible,
}

CORPUS_KINDS = ("typical",)
"""Kinds that must see every graph of a corpus before they cut one; ``corpus_kind`` makes them."""


def kind_of(name: str) -> SubgraphKind:
    """Return the kind with this name; raise ValueError if it is unknown."""
    if name not in KINDS:
        raise ValueError(f"unknown kind {name!r}; known: {', '.join((*KINDS, *CORPUS_KINDS))}")
    return KINDS[name]


def corpus_kind(name: str, graphs: Iterable[Graph]) -> SubgraphKind:
    """Return one of ``CORPUS_KINDS`` for these graphs, which are read once."""
    if name != "typical":
        raise ValueError(f"unknown kind {name!r}; known: {', '.join(CORPUS_KINDS)}")
    return Typical.of(graphs, most=sys.maxsize)
