"""The kinds of subgraphs, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from graph_net.graph.graph import Graph
from graph_net.rewrite.blocks import block
from graph_net.rewrite.fusible import fusible
from graph_net.rewrite.sole_op import sole_op
from graph_net.rewrite.task import task
from graph_net.rewrite.typical import Typical

SubgraphKind: TypeAlias = Callable[[Graph], Iterable[Sequence[str]]]
"""Gives the groups of nodes, by name, that a graph falls into; each makes a subgraph."""

KINDS: dict[str, SubgraphKind] = {
    "sole_op": sole_op,
    "task": task,
    "block": block,
    "fusible": fusible,
}

CORPUS_KINDS = ("typical",)
"""Kinds that must see every graph of a corpus before they cut one; ``corpus_kind`` makes them."""


def kind_of(name: str) -> SubgraphKind:
    """The kind with this name."""
    try:
        return KINDS[name]
    except KeyError:
        raise ValueError(
            f"unknown kind {name!r}; known: {', '.join((*KINDS, *CORPUS_KINDS))}"
        ) from None


def corpus_kind(name: str, graphs: Iterable[Graph]) -> SubgraphKind:
    """One of ``CORPUS_KINDS``, for these graphs; they are read once."""
    if name != "typical":
        raise ValueError(f"unknown kind {name!r}; known: {', '.join(CORPUS_KINDS)}")
    return Typical.of(graphs, most=sys.maxsize)
