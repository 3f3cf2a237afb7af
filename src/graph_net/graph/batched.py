"""Calls under ``vmap``: read as data, and removed by tracing before there is a Graph.

Dynamo writes a ``vmap`` as calls of torch's internals around the calls that are batched::

    _vmap_increment_nesting(5, "error")
    child = _add_batch_dim(x, 0, 1)
    y = child.sin()
    out = _remove_batch_dim(y, 1, 5, 0)
    _vmap_decrement_nesting()

The calls in between do not mean what is written, because of hidden state of the internals. But a
region from the first increment to its decrement is a function, so it can be traced alone and
replayed (``graph_net.rewrite.batched``). Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from graph_net.graph.errors import GraphError
from graph_net.graph.graph import Graph, Node
from graph_net.graph.targets import VMAP_INTERNALS
from graph_net.graph.values import Ref

ENTER, LEAVE = "_vmap_increment_nesting", "_vmap_decrement_nesting"
ADD, REMOVE, LOAD = "_add_batch_dim", "_remove_batch_dim", "lazy_load_decompositions"
INTERNALS = frozenset([ENTER, LEAVE, ADD, REMOVE, LOAD])
STAND_IN = "builtins.tuple"
"""The target of an internal's call in ``Batched.graph``, so that its arguments are checked."""
RANDOMNESS = ("error", "same", "different")
DEEPEST = 16
"""The limit of nested regions; samples have up to five."""


def internal_of(target: str) -> str | None:
    """Return the name of the ``vmap`` internal that a target names, or None."""
    name = target.rpartition(".")[2]
    return name if name in INTERNALS and VMAP_INTERNALS.fullmatch(target) else None


@dataclass(frozen=True)
class Batched:
    """A graph with regions computed under ``vmap``.

    ``internals`` maps the names of nodes to the internals they call; in ``graph`` they are calls of
    ``STAND_IN`` with the same arguments. Malformed regions are refused.
    """

    graph: Graph
    internals: Mapping[str, str]

    def __post_init__(self) -> None:
        assert self.regions is not None  # raises on malformed regions

    @cached_property
    def regions(self) -> tuple[range, ...]:
        """The positions of each outermost region, first and last call included."""
        regions: list[range] = []
        depth = start = 0
        for position, node in enumerate(self.graph.nodes):
            internal = self.internals.get(node.name)
            if internal is None:
                continue
            if not _is_well_formed(internal, node, depth):
                self._refuse(node, internal)
            if internal == ENTER:
                start, depth = (position if depth == 0 else start), depth + 1
            elif internal == LEAVE:
                depth -= 1
                if depth == 0:
                    regions.append(range(start, position + 1))
        if depth:
            self._refuse(self.graph.nodes[start], ENTER)
        return tuple(regions)

    def _refuse(self, node: Node, internal: str) -> None:
        why = f"{internal} is a vmap internal outside a region, or with unexpected arguments"
        raise GraphError(why, node=node.name)


def _is_well_formed(internal: str, node: Node, depth: int) -> bool:
    if node.kwargs:
        return False
    match internal, node.args:
        case "_vmap_increment_nesting", (int() | Ref(), str(randomness)):
            return randomness in RANDOMNESS and depth < DEEPEST
        case "_add_batch_dim", (Ref(), int(), int(level)):
            return 1 <= level <= depth
        case "_remove_batch_dim", (Ref(), int(level), int() | Ref(), int()):
            return level == depth >= 1
        case "_vmap_decrement_nesting", ():
            return depth >= 1
        case "lazy_load_decompositions", ():
            return True
    return False
