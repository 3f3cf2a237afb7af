"""Tables of a graph's nodes: which nodes read which, and which calls are equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import cached_property

from graph_net.graph.effects import effect_edges
from graph_net.graph.graph import Graph, Node
from graph_net.graph.spec import ScalarSpec
from graph_net.graph.values import Ref, refs


class Tables:
    """Positions, reads and dependences of a graph; each table is made on first use."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.position = {node.name: i for i, node in enumerate(graph.nodes)}
        self.returned = frozenset(ref.name for ref in refs(graph.output))
        self.reads: list[tuple[str, ...]] = [
            tuple(dict.fromkeys(ref.name for ref in node.refs)) for node in graph.nodes
        ]

    @cached_property
    def effects(self) -> dict[int, tuple[int, ...]]:
        """For each node, the positions of the nodes it must follow without reading them."""
        return effect_edges(self.graph)

    @cached_property
    def readers(self) -> dict[str, list[int]]:
        """For each value the positions of the nodes that read it."""
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, names in enumerate(self.reads):
            for name in names:
                positions[name].append(position)
        return dict(positions)

    @cached_property
    def before(self) -> list[tuple[int, ...]]:
        """For each node, the positions of the nodes it must follow, by value or by effect."""
        earlier = []
        for i, names in enumerate(self.reads):
            sources = [self.position[name] for name in names if name in self.position]
            earlier.append(tuple(dict.fromkeys((*sources, *self.effects.get(i, ())))))
        return earlier

    @cached_property
    def after(self) -> list[list[int]]:
        """For each node, the positions of the nodes that must follow it."""
        later: list[list[int]] = [[] for _ in self.graph.nodes]
        for i, earlier in enumerate(self.before):
            for j in earlier:
                later[j].append(i)
        return later

    @cached_property
    def depth(self) -> list[int]:
        """For each node the length of the longest path to it."""
        depths: list[int] = []
        for earlier in self.before:
            depths.append(1 + max((depths[j] for j in earlier), default=0))
        return depths

    def inputs(self, positions: Sequence[int]) -> list[str]:
        """Return the inputs of a set of nodes, in the order they first read them."""
        own = {self.graph.nodes[i].name for i in positions}
        read = dict.fromkeys(name for i in positions for name in self.reads[i])
        return [name for name in read if name not in own]

    @cached_property
    def items(self) -> list[int]:
        """A number for each node that is equal for calls that differ in names alone.

        The target, the arguments, and the specs of the values read and returned are compared.
        """
        numbers: dict[Hashable, int] = {}
        return [
            numbers.setdefault(self._item(i, node), len(numbers))
            for i, node in enumerate(self.graph.nodes)
        ]

    def _item(self, position: int, node: Node) -> Hashable:
        slots = {name: Ref(str(slot)) for slot, name in enumerate(self.reads[position])}

        def slot(ref: Ref) -> Ref:
            return slots[ref.name]

        specs = tuple(self._spec_of(name) for name in slots)
        slotted = node.with_refs(slot)
        # As text: 1, 1.0 and True are equal and not the same argument.
        return node.target, repr((slotted.args, slotted.kwargs)), node.result, specs

    def _spec_of(self, name: str) -> Hashable:
        """Return the specification of a value; of a scalar input its recipe too."""
        entry = self.graph.index[name]
        if isinstance(entry, Node):
            return entry.result
        return (entry.spec, entry.recipe) if isinstance(entry.spec, ScalarSpec) else entry.spec

    def wiring(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return for every read of these nodes which of them makes the value, or which input it is.

        Sets of nodes with equal ``items`` and equal wiring compute the same.
        """
        slots = {name: -1 - slot for slot, name in enumerate(self.inputs(positions))}
        inside = {position: i for i, position in enumerate(positions)}
        return tuple(
            slots[name] if name in slots else inside[self.position[name]]
            for position in positions
            for name in self.reads[position]
        )
