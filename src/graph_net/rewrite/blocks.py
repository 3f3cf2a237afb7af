"""Fold the repeated layers of a graph: nodes that occur once, and blocks with count and wiring.

A transformer of 32 layers is the nodes around its layers, one layer, and the number 32. The values
that a copy of a block takes from the copy before, those that all copies share, and those that each
copy has alone are recorded, so that nothing is lost: ``expand`` restores the graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Node
from graph_net.graph.values import Ref
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.loops import Loop, find_loops

KIND = "block"


class Wire(Enum):
    """Where an input of a block comes from."""

    CARRIED = "carried"
    SHARED = "shared"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Feed:
    """An input of a block over all its copies.

    A carried input is the value at position ``source`` of the copy before, in every copy but the
    first; a shared input is the same value for all; the others are each copy's own (its weights).
    """

    wire: Wire
    names: tuple[str, ...]
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Copies of one piece of a graph, one behind the other.

    ``body`` is the first copy as a graph, ``nodes`` the names of every copy's nodes in the order of
    the body's, ``feeds`` the sources of the body's inputs.
    """

    body: Graph
    nodes: tuple[tuple[str, ...], ...]
    feeds: tuple[Feed, ...]

    @property
    def count(self) -> int:
        """The number of copies."""
        return len(self.nodes)


@dataclass(frozen=True)
class Folded:
    """A graph as blocks, and the nodes outside any block."""

    graph: Graph
    blocks: tuple[Block, ...]

    @cached_property
    def outside(self) -> tuple[Node, ...]:
        """The nodes that belong to no block, in order."""
        inside = {name for block in self.blocks for copy in block.nodes for name in copy}
        return tuple(node for node in self.graph.nodes if node.name not in inside)

    @property
    def size(self) -> int:
        """The number of nodes left: those outside, and each block's body once."""
        return len(self.outside) + sum(len(block.body.nodes) for block in self.blocks)


def fold_blocks(graph: Graph) -> Folded:
    """Return the graph with each run of equal layers as one block; linear in the graph."""
    carver = Carver(graph)
    blocks = []
    for loop in find_loops(carver):
        try:
            blocks.append(_block(carver, loop))
        except GraphError:
            continue  # a layer that cannot stand alone is not a block
    return Folded(graph, tuple(blocks))


def block(graph: Graph) -> Iterable[tuple[str, ...]]:
    """Return every copy of every repeated layer."""
    return [copy for folded in fold_blocks(graph).blocks for copy in folded.nodes]


def _block(carver: Carver, loop: Loop) -> Block:
    nodes = carver.graph.nodes
    copies = tuple(
        tuple(node.name for node in nodes[start : start + loop.period]) for start in loop.starts
    )
    body = carver.carve(copies[0], kind=KIND)
    taken = [loop.inputs(carver, start) for start in loop.starts]
    feeds = tuple(_feed(carver, loop, column) for column in zip(*taken, strict=True))
    return Block(body, copies, feeds)


def _feed(carver: Carver, loop: Loop, names: tuple[str, ...]) -> Feed:
    if len(set(names)) == 1:
        return Feed(Wire.SHARED, names)
    sources = {
        carver.position.get(name, -1) - start
        for name, start in zip(names[1:], loop.starts, strict=False)
    }
    source = sources.pop()
    if not sources and 0 <= source < loop.period:
        return Feed(Wire.CARRIED, names, source)
    return Feed(Wire.OWN, names)


def expand(folded: Folded) -> tuple[Node, ...]:
    """Return every node of the graph, from the nodes outside and the bodies alone."""
    nodes = {node.name: node for node in folded.outside}
    for folded_block in folded.blocks:
        first = [node.name for node in folded_block.body.nodes]
        for number, copy in enumerate(folded_block.nodes):
            names = dict(zip(first, copy, strict=True))
            for entry, feed in zip(folded_block.body.inputs, folded_block.feeds, strict=True):
                names[entry.name] = feed.names[number]

            def rename(ref: Ref, names: dict[str, str] = names) -> Ref:
                return Ref(names[ref.name])

            for node, name in zip(folded_block.body.nodes, copy, strict=True):
                nodes[name] = node.with_refs(rename, name)
    return tuple(nodes[node.name] for node in folded.graph.nodes)
