"""The writer of the binary form, which ``graph_net.graph.binary`` describes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from graph_net.graph.binary_layout import (
    FAR,
    FAR_SPAN,
    FAR_USES,
    INPUT,
    LEVELS,
    LONG_FIELDS,
    NEAR,
    NUMBER,
    RECIPES,
    ROLES,
    NameSuffixGuess,
    split_suffix,
)
from graph_net.graph.byte_tags import REF
from graph_net.graph.byte_writer import ByteWriter
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Node, Provenance
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe, Uniform
from graph_net.graph.repeats import Copy, find_repeats
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.values import Ref


class GraphWriter(ByteWriter):
    """Writes one graph; references become distances, so that equal layers give equal bytes."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.inputs = {entry.name: i for i, entry in enumerate(graph.inputs)}
        self.positions = {node.name: i for i, node in enumerate(graph.nodes)}
        self.cursor = 0
        self.here = 0
        self.specs: dict[Result, int] = {}
        self.far = self._far_nodes()

    def _far_nodes(self) -> set[int]:
        uses: defaultdict[int, int] = defaultdict(int)
        last: dict[int, int] = {}
        for i, node in enumerate(self.graph.nodes):
            for ref in node.refs:
                j = self.positions.get(ref.name)
                if j is not None:
                    uses[j] += 1
                    last[j] = i
        return {j for j, n in uses.items() if n >= FAR_USES and last[j] - j > FAR_SPAN}

    def reference(self, ref: Ref) -> None:
        self.data.append(REF)
        if ref.name in self.inputs:
            index = self.inputs[ref.name]
            delta, self.cursor = index - self.cursor, index
            self.varint((delta << 1 if delta >= 0 else (-delta << 1) - 1) * 3 + INPUT)
            return
        index = self.positions[ref.name]
        if index in self.far:
            self.varint(index * 3 + FAR)
        else:
            self.varint((self.here - index) * 3 + NEAR)

    def write(self) -> None:
        graph = self.graph
        self.data.append(LEVELS.index(graph.level))
        self._provenance(graph.provenance)
        self.varint(len(graph.symbols))
        for symbol in graph.symbols:
            self.text(symbol.name)
            for number in (symbol.example, symbol.low, symbol.high):
                self.value(number)
        self.each([constraint.text for constraint in graph.constraints], self.text)
        tail = self._node_bytes()
        self.each(self.specs, self._spec)
        self._inputs()
        self.data += tail

    def _node_bytes(self) -> bytearray:
        """Return the bytes of the nodes, written first because they fill the table of specs."""
        for entry in self.graph.inputs:
            self._spec_index(entry.spec)
        head, self.data = self.data, bytearray()
        records: dict[bytes, int] = {}
        sequence: list[Hashable] = []
        suffixes = NameSuffixGuess()
        for position, node in enumerate(self.graph.nodes):
            self.here = position
            record = self._record(node, suffixes)
            sequence.append(records.setdefault(record, len(records)))
        self.data = bytearray()
        self.varint(len(records))
        for record in records:
            self.data += record
        self.each(find_repeats(sequence), self._record_or_copy)
        self.here = len(self.graph.nodes)
        self.value(self.graph.output)
        tail, self.data = self.data, head
        return tail

    def _record(self, node: Node, suffixes: NameSuffixGuess) -> bytes:
        self.data = bytearray()
        self.text(node.target)
        base, number = split_suffix(node.name)
        self.text(base)
        guess = suffixes.guess(base)
        self.varint(0 if guess == number else 1 if number is None else number + 2)
        suffixes.record(base, number)
        self.each(node.args, self.value)
        self.each(node.kwargs, self.pair)
        self.varint(self._spec_index(node.result))
        return bytes(self.data)

    def _record_or_copy(self, item: Hashable | Copy) -> None:
        if isinstance(item, Copy):
            self.varint(item.length << 1 | 1)
            self.varint(item.distance)
        else:
            self.varint(item << 1)  # type: ignore[operator]

    def _spec_index(self, spec: Result) -> int:
        return 0 if spec is None else self.specs.setdefault(spec, len(self.specs) + 1)

    def _provenance(self, provenance: Provenance) -> None:
        for field in LONG_FIELDS:
            self.text(getattr(provenance, field))
        self.each(provenance.tags, self.text)
        self.each(provenance.options, self.pair)

    def _dim(self, dim: Dim) -> None:
        if isinstance(dim, Expr):
            self.varint(self.texts.setdefault(dim.text, len(self.texts)) << 1 | 1)
        else:
            self.varint(dim << 1)

    def _spec(self, spec: Result) -> None:
        if spec is None:
            self.varint(0)
        elif isinstance(spec, TensorSpec):
            self.varint(1 if spec.stride is None else 2)
            self.text(spec.dtype)
            self.each(spec.shape, self._dim)
            if spec.stride is not None:
                for dim in spec.stride:
                    self.each((dim,), self._dim)
        elif isinstance(spec, ScalarSpec):
            self.varint(3 if spec.expr is None else 4)
            self.text(spec.kind)
            if spec.expr is not None:
                self.text(spec.expr.text)
        else:
            self.varint(5)
            self.each(spec, self._spec)

    def _inputs(self) -> None:
        entries = self.graph.inputs
        self.varint(len(entries))
        numbers = ByteWriter()
        previous: dict[str, list[int]] = {}
        for entry in entries:
            parts = NUMBER.split(entry.name)
            template = "#".join(parts[0::2])
            values = [int(part) for part in parts[1::2]]
            before = previous.get(template, [0] * len(values))
            for old, new in zip(before, values, strict=True):
                numbers.signed_varint(new - old)
            previous[template] = values
            self.text(template)
        self.data += numbers.data
        for entry in entries:
            flags = (entry.local is not None) | (entry.original is not None) << 1
            self.data.append(ROLES.index(entry.role) << 2 | flags)
        for entry in entries:
            self.varint(self._spec_index(entry.spec))
        for entry in entries:
            for text in (entry.local, entry.original):
                if text is not None:
                    self.text(text)
        self._recipes([entry.recipe for entry in entries])

    def _recipes(self, recipes: list[Recipe]) -> None:
        for recipe in recipes:
            self.data.append(RECIPES.index(type(recipe)))
        normals = [recipe for recipe in recipes if isinstance(recipe, Normal)]
        for field in ("mean", "std", "low", "high"):
            column = [getattr(recipe, field) for recipe in normals]
            present = [value for value in column if value is not None]
            self.numbers(
                [value is not None for value in column] if len(present) < len(column) else []
            )
            self.numbers(present)
        for recipe in recipes:
            match recipe:
                case Uniform(low, high) | Integers(low, high):
                    self.value(low)
                    self.value(high)
                case Bernoulli(p):
                    self.value(p)
                case Constant(value):
                    self.value(value)
                case Literal(values):
                    self.numbers(values)
