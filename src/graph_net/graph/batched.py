"""Calls made under ``vmap``: read as data, and traced away before there is a Graph.

Dynamo writes a ``vmap`` as calls of torch's internals around the calls that are batched::

    _vmap_increment_nesting(5, "error")
    child = _add_batch_dim(x, 0, 1)
    y = child.sin()
    out = _remove_batch_dim(y, 1, 5, 0)
    _vmap_decrement_nesting()

What stands between means something else than it says, through state that the internals keep. A
region from the first increment to the decrement that ends it is a function all the same, so it can
be traced alone and replayed (``graph_net.rewrite.batched``). Nothing here imports torch.
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
"""What a call of an internal is in ``Batched.graph``, so that all its checks are made."""
RANDOMNESS = ("error", "same", "different")
DEEPEST = 16
"""Nested regions; samples have up to five."""


def internal_of(target: str) -> str | None:
    """Return which internal of ``vmap`` a target is, if it is one that is read."""
    word = target.rpartition(".")[2]
    return word if word in INTERNALS and VMAP_INTERNALS.fullmatch(target) else None


@dataclass(frozen=True)
class Batched:
    """A graph parts of which are computed under ``vmap``.

    ``internals`` says of nodes, by name, which internal they call; these stand in ``graph`` as
    ``STAND_IN`` with the same arguments. Regions that are not well formed are refused.
    """

    graph: Graph
    internals: Mapping[str, str]

    def __post_init__(self) -> None:
        assert self.regions is not None

    @cached_property
    def regions(self) -> tuple[range, ...]:
        """The positions of each outermost region, first and last call included."""
        found: list[range] = []
        depth = start = 0
        for position, node in enumerate(self.graph.nodes):
            word = self.internals.get(node.name)
            if word is None:
                continue
            if not _is_well_formed(word, node, depth):
                self._refuse(node, word)
            if word == ENTER:
                start, depth = (position if depth == 0 else start), depth + 1
            elif word == LEAVE:
                depth -= 1
                if depth == 0:
                    found.append(range(start, position + 1))
        if depth:
            self._refuse(self.graph.nodes[start], ENTER)
        return tuple(found)

    def _refuse(self, node: Node, word: str) -> None:
        why = f"{word} is a vmap internal that stands outside a region, or with other arguments"
        raise GraphError(f"{why} than Dynamo writes", node=node.name)


def _is_well_formed(word: str, node: Node, depth: int) -> bool:
    if node.kwargs:
        return False
    match word, node.args:
        case "_vmap_increment_nesting", (int() | Ref(), str(how)):
            return how in RANDOMNESS and depth < DEEPEST
        case "_add_batch_dim", (Ref(), int(), int(level)):
            return 1 <= level <= depth
        case "_remove_batch_dim", (Ref(), int(level), int() | Ref(), int()):
            return level == depth >= 1
        case "_vmap_decrement_nesting", ():
            return depth >= 1
        case "lazy_load_decompositions", ():
            return True
    return False
