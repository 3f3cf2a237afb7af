"""Carve any convex set of a graph's nodes out as a Graph of its own.

Convex: no value leaves the set and comes back through a node outside it. Effects count as values: a
call that changes a tensor in place stays behind those that read it before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from graph_net.graph.effects import changes_autocast, mutated_arguments, storages
from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Expr
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.spec import Result, TensorSpec
from graph_net.graph.values import Ref, refs
from graph_net.rewrite.piece_inputs import as_input
from graph_net.rewrite.tables import Tables

SOURCE, KIND, NODES = "graph", "kind", "positions"
"""Options in a piece's provenance: the id of the whole graph, the kind, the nodes' positions."""


def carve(graph: Graph, nodes: Iterable[str], *, kind: str = "") -> Graph:
    """Return these nodes as a graph; for many pieces of one graph use a Carver."""
    return Carver(graph).carve(nodes, kind=kind)


class Carver(Tables):
    """Carves pieces out of one graph, each in time linear in the piece.

    A piece takes the values it reads and does not compute, in the order it first reads them, and
    returns those that are read outside it, in the order it computes them. Names stay, so that the
    pieces of a partition compose (``graph_net.rewrite.compose``). ``source`` is the id that their
    provenance names if it is not this graph's own.
    """

    def __init__(self, graph: Graph, source: str = "") -> None:
        super().__init__(graph)
        self._source = source or graph.id
        self._whole_only = any(changes_autocast(node) for node in graph.nodes)
        self._symbols = {symbol.name: symbol for symbol in graph.symbols}
        self._spec_symbols: dict[int, frozenset[str]] = {}  # by the specification's identity

    @cached_property
    def _writes(self) -> dict[int, tuple[str, ...]]:
        """The storages that each node changes in place, by position."""
        changed = {
            i: arguments
            for i, node in enumerate(self.graph.nodes)
            if (arguments := mutated_arguments(node))
        }
        self._storage = storages(self.graph, changed) if changed else {}
        return {
            i: tuple(self._storage[ref.name] for value in arguments for ref in refs(value))
            for i, arguments in changed.items()
        }

    def carve(self, nodes: Iterable[str], *, kind: str = "") -> Graph:
        """Return these nodes as a graph; raise GraphError if they cannot be one."""
        positions = self._positions(nodes)
        self._check_sound(positions)
        chosen = [self.graph.nodes[i] for i in positions]
        names = self.inputs(positions)
        aliases = self.aliased_inputs(positions, names)
        if aliases:
            why = f"shares its storage with {aliases[0]}, and the piece changes it"
            raise GraphError(why, node=aliases[1])
        inputs = [as_input(self.graph, self.graph.index[name]) for name in names]
        symbols = self._symbols_of(inputs, chosen)
        options = ((SOURCE, self._source), (KIND, kind), (NODES, ranges(positions)))
        return Graph(
            tuple(inputs),
            tuple(chosen),
            tuple(Ref(name) for name in self.outputs(positions)),
            self.graph.level,
            tuple(symbol for name, symbol in self._symbols.items() if name in symbols),
            tuple(c for c in self.graph.constraints if symbols and c.symbols <= symbols),
            replace(self.graph.provenance, options=options),
        )

    def outputs(self, positions: Sequence[int]) -> list[str]:
        """Return the values of a set of nodes that are read outside it, else its last ones."""
        inside = set(positions)
        outputs, last = [], []
        for i in positions:
            node = self.graph.nodes[i]
            readers = self.readers.get(node.name, ())
            outside = any(reader not in inside for reader in readers)
            if outside and isinstance(node.result, tuple):
                raise GraphError(
                    "returns several values at once, which cannot leave a piece", node=node.name
                )
            if outside or node.name in self.returned:
                outputs.append(node.name)
            elif not readers:
                last.append(node.name)
        return outputs or last

    def _positions(self, nodes: Iterable[str]) -> list[int]:
        try:
            positions = sorted({self.position[name] for name in nodes})
        except KeyError as error:
            raise GraphError("is not a node of this graph", node=str(error.args[0])[:80]) from None
        if not positions:
            raise GraphError("a piece needs at least one node")
        return positions

    def _check_sound(self, positions: list[int]) -> None:
        if self._whole_only and len(positions) < len(self.graph.nodes):
            raise GraphError("a graph that enables autocast cannot be cut")
        position = self._node_between(positions)
        if position is not None:
            node = self.graph.nodes[position]
            raise GraphError("lies between nodes of a piece and not in it", node=node.name)

    def _node_between(self, positions: list[int]) -> int | None:
        """Return a node outside that lies between two inside, or None."""
        inside = set(positions)
        last = positions[-1]
        deepest = max(self.depth[i] for i in positions)
        visited: set[int] = set()

        def beyond(position: int) -> Iterator[int]:
            return (j for j in self.after[position] if j < last and self.depth[j] < deepest)

        stack = [j for i in positions for j in beyond(i) if j not in inside]
        while stack:
            position = stack.pop()
            if position in visited:
                continue
            visited.add(position)
            for j in self.after[position]:
                if j in inside:
                    return position
            stack.extend(beyond(position))
        return None

    def aliased_inputs(self, positions: Sequence[int], inputs: Iterable[str]) -> list[str]:
        """Return the inputs that share a storage which these nodes change.

        As tensors of their own, two names of one storage would not change together.
        """
        changed = {storage for i in positions for storage in self._writes.get(i, ())}
        if not changed:
            return []
        names: defaultdict[str, list[str]] = defaultdict(list)
        for name in inputs:
            if self._storage[name] in changed:
                names[self._storage[name]].append(name)
        return [name for aliases in names.values() if len(aliases) > 1 for name in aliases]

    def _symbols_of(self, inputs: Iterable[Input], nodes: Iterable[Node]) -> frozenset[str]:
        if not self._symbols:
            return frozenset()
        names: set[str] = set()
        specs: list[Result] = [entry.spec for entry in inputs]
        specs += [node.result for node in nodes]
        for spec in specs:
            if id(spec) not in self._spec_symbols:
                self._spec_symbols[id(spec)] = symbols_of(spec)
            names |= self._spec_symbols[id(spec)]
        return frozenset(names)


def symbols_of(spec: Result) -> frozenset[str]:
    """Return the symbols in a specification."""
    return frozenset(_symbols(spec))


def _symbols(spec: Result) -> Iterator[str]:
    if isinstance(spec, tuple):
        for item in spec:
            yield from _symbols(item)
    elif isinstance(spec, TensorSpec):
        for dim in (*spec.shape, *(spec.stride or ())):
            if isinstance(dim, Expr):
                yield from dim.symbols
    elif spec is not None and spec.expr is not None:
        yield from spec.expr.symbols


def ranges(positions: Sequence[int]) -> str:
    """Return ascending positions as text: ``3-7,9``."""
    parts: list[str] = []
    start = None
    for i, position in enumerate(positions):
        start = position if start is None else start
        if i + 1 == len(positions) or positions[i + 1] != position + 1:
            parts.append(str(start) if start == position else f"{start}-{position}")
            start = None
    return ",".join(parts)
