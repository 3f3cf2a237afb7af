"""What is asked of a graph's nodes again and again: who reads whom, who is equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import cached_property

from graph_net.graph.effects import effect_edges
from graph_net.graph.graph import Graph, Node
from graph_net.graph.spec import ScalarSpec
from graph_net.graph.values import Ref, refs


class Tables:
    """Positions, reads and dependences of a graph; each table is made when first asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.position = {node.name: i for i, node in enumerate(graph.nodes)}
        self.returned = frozenset(ref.name for ref in refs(graph.output))
        self.reads: list[tuple[str, ...]] = [
            tuple(dict.fromkeys(ref.name for ref in node.refs)) for node in graph.nodes
        ]

    @cached_property
    def effects(self) -> dict[int, tuple[int, ...]]:
        """For each node the positions of those it comes after without reading them."""
        return effect_edges(self.graph)

    @cached_property
    def readers(self) -> dict[str, list[int]]:
        """For each value the positions of the nodes that read it."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, names in enumerate(self.reads):
            for name in names:
                found[name].append(position)
        return dict(found)

    @cached_property
    def before(self) -> list[tuple[int, ...]]:
        """For each node the positions of those it must come after, by value or by effect."""
        return [
            tuple(
                dict.fromkeys(
                    [self.position[name] for name in names if name in self.position]
                    + list(self.effects.get(i, ()))
                )
            )
            for i, names in enumerate(self.reads)
        ]

    @cached_property
    def after(self) -> list[list[int]]:
        """For each node the positions of those that must come after it."""
        found: list[list[int]] = [[] for _ in self.graph.nodes]
        for i, earlier in enumerate(self.before):
            for j in earlier:
                found[j].append(i)
        return found

    @cached_property
    def depth(self) -> list[int]:
        """For each node the length of the longest way that leads to it."""
        found: list[int] = []
        for earlier in self.before:
            found.append(1 + max((found[j] for j in earlier), default=0))
        return found

    def inputs(self, positions: Sequence[int]) -> list[str]:
        """What a set of nodes takes, in the order they first read it."""
        own = {self.graph.nodes[i].name for i in positions}
        read = dict.fromkeys(name for i in positions for name in self.reads[i])
        return [name for name in read if name not in own]

    @cached_property
    def items(self) -> list[int]:
        """For each node a number that calls have in common which differ in names alone.

        Equal are target, arguments, and what is known of the values read and of the result.
        """
        numbers: dict[Hashable, int] = {}
        return [
            numbers.setdefault(self._item(i, node), len(numbers))
            for i, node in enumerate(self.graph.nodes)
        ]

    def _item(self, place: int, node: Node) -> Hashable:
        slots = {name: Ref(str(slot)) for slot, name in enumerate(self.reads[place])}

        def slot(ref: Ref) -> Ref:
            return slots[ref.name]

        specs = tuple(self._known_of(name) for name in slots)
        slotted = node.with_refs(slot)
        # As text: 1, 1.0 and True are equal and not the same argument.
        return node.target, repr((slotted.args, slotted.kwargs)), node.result, specs

    def _known_of(self, name: str) -> Hashable:
        """What is known of a value; of a number that is passed in also which."""
        entry = self.graph.index[name]
        if isinstance(entry, Node):
            return entry.result
        return (entry.spec, entry.recipe) if isinstance(entry.spec, ScalarSpec) else entry.spec

    def wiring(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Every read of these nodes: which of them makes the value, or as which input it comes.

        Sets of nodes with equal ``items`` and equal wiring compute the same.
        """
        slots = {name: -1 - slot for slot, name in enumerate(self.inputs(positions))}
        inside = {place: i for i, place in enumerate(positions)}
        return tuple(
            slots[name] if name in slots else inside[self.position[name]]
            for place in positions
            for name in self.reads[place]
        )
