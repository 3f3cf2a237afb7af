"""A Graph as compact bytes, and back, exactly.

Everything that recurs is stored once: texts and specifications in tables, calls as records in
which a reference is a distance (so the layers of a transformer give the same records), and runs
of records that occur again as a copy from earlier (``graph_net.graph.repeats``). General
compression is left to the container, which can see many graphs at once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from graph_net.graph.binary_io import REF, Reader, Writer
from graph_net.graph.checks import check_sizes
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Input, Level, Node, Provenance, Role, Symbol
from graph_net.graph.limits import DEFAULT_LIMITS, Limits
from graph_net.graph.recipe import (
    Bernoulli,
    Constant,
    Integers,
    Literal,
    Normal,
    Recipe,
    Uniform,
)
from graph_net.graph.repeats import Copy, find_repeats
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.values import Ref, Value, map_refs

MAGIC = b"GNG1"
T = TypeVar("T")
LEVELS = tuple(Level)
ROLES = tuple(Role)
NEAR, FAR, INPUT = range(3)
FAR_SPAN, FAR_USES = 100, 3
"""A node read this often over this distance (a mask, a rotary table) is named by its position:
then the layers that read it still give equal records."""
NAME_SHIFT = 4
"""Every so many letters of a name (as a power of two) count as one value of the budget."""
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,8})")
_SUFFIX = re.compile(r"(.+)_(0|[1-9][0-9]{0,8})", re.ASCII)
_LONG_FIELDS = ("library", "model", "category", "subcategory", "framework", "framework_version")


def to_bytes(graph: Graph) -> bytes:
    """The compact form."""
    body = _GraphWriter(graph)
    body.write()
    head = Writer()
    head.data += MAGIC
    head.whole(len(body.texts))
    for text in body.texts:
        raw = text.encode("utf-8")
        head.whole(len(raw))
        head.data += raw
    return bytes(head.data + body.data)


def from_bytes(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Graph:
    """The Graph that ``to_bytes`` wrote; anything else is a GraphError."""
    if len(data) > limits.bytes:
        raise LimitExceeded(f"{len(data)} bytes; {limits.bytes} are allowed")
    if data[: len(MAGIC)] != MAGIC:
        raise GraphError("these bytes are no graph", field="magic")
    return _GraphReader(data, limits).graph()


def split_suffix(name: str) -> tuple[str, int | None]:
    """``relu_2`` as ``relu`` and 2, ``relu`` as itself and None."""
    match = _SUFFIX.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def join_suffix(base: str, number: int | None) -> str:
    """The reverse of ``split_suffix``."""
    return base if number is None else f"{base}_{number}"


class _Suffixes:
    """Guesses the number FX puts behind a name: one more than last time."""

    def __init__(self) -> None:
        self.last: dict[str, int | None] = {}

    def guess(self, base: str) -> int | None:
        return (self.last[base] or 0) + 1 if base in self.last else None

    def saw(self, base: str, number: int | None) -> None:
        self.last[base] = number


class _GraphWriter(Writer):
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
            self.whole((delta << 1 if delta >= 0 else (-delta << 1) - 1) * 3 + INPUT)
            return
        index = self.positions[ref.name]
        if index in self.far:
            self.whole(index * 3 + FAR)
        else:
            self.whole((self.here - index) * 3 + NEAR)

    def write(self) -> None:
        graph = self.graph
        self.data.append(LEVELS.index(graph.level))
        self._provenance(graph.provenance)
        self.whole(len(graph.symbols))
        for symbol in graph.symbols:
            self.text(symbol.name)
            for number in (symbol.example, symbol.low, symbol.high):
                self.value(number)
        self.whole(len(graph.constraints))
        for constraint in graph.constraints:
            self.text(constraint.text)
        tail = self.branch_for_nodes()
        self._specs()
        self._inputs()
        self.data += tail

    def branch_for_nodes(self) -> bytearray:
        """The nodes, written first because they fill the table of specifications."""
        for entry in self.graph.inputs:
            self._spec_index(entry.spec)
        kept, self.data = self.data, bytearray()
        records: dict[bytes, int] = {}
        sequence: list[Hashable] = []
        suffixes = _Suffixes()
        for position, node in enumerate(self.graph.nodes):
            self.here = position
            record = self._record(node, suffixes)
            sequence.append(records.setdefault(record, len(records)))
        self.data = bytearray()
        self.whole(len(records))
        for record in records:
            self.data += record
        self._sequence(find_repeats(sequence))
        self.here = len(self.graph.nodes)
        self.value(self.graph.output)
        tail, self.data = self.data, kept
        return tail

    def _record(self, node: Node, suffixes: _Suffixes) -> bytes:
        self.data = bytearray()
        self.text(node.target)
        base, number = split_suffix(node.name)
        self.text(base)
        guess = suffixes.guess(base)
        self.whole(0 if guess == number else 1 if number is None else number + 2)
        suffixes.saw(base, number)
        self.whole(len(node.args))
        for argument in node.args:
            self.value(argument)
        self.whole(len(node.kwargs))
        for key, argument in node.kwargs:
            self.text(key)
            self.value(argument)
        self.whole(self._spec_index(node.result))
        return bytes(self.data)

    def _sequence(self, items: list[Hashable | Copy]) -> None:
        self.whole(len(items))
        for item in items:
            if isinstance(item, Copy):
                self.whole(item.length << 1 | 1)
                self.whole(item.distance)
            else:
                self.whole(item << 1)  # type: ignore[operator]

    def _spec_index(self, spec: Result) -> int:
        return 0 if spec is None else self.specs.setdefault(spec, len(self.specs) + 1)

    def _provenance(self, provenance: Provenance) -> None:
        for field in _LONG_FIELDS:
            self.text(getattr(provenance, field))
        self.whole(len(provenance.tags))
        for tag in provenance.tags:
            self.text(tag)
        self.whole(len(provenance.options))
        for key, value in provenance.options:
            self.text(key)
            self.value(value)

    def _dims(self, dims: tuple[Dim, ...]) -> None:
        self.whole(len(dims))
        for dim in dims:
            if isinstance(dim, Expr):
                self.whole(self.texts.setdefault(dim.text, len(self.texts)) << 1 | 1)
            else:
                self.whole(dim << 1)

    def _specs(self) -> None:
        self.whole(len(self.specs))
        for spec in self.specs:
            self._spec(spec)

    def _spec(self, spec: Result) -> None:
        if spec is None:
            self.whole(0)
        elif isinstance(spec, TensorSpec):
            self.whole(1 if spec.stride is None else 2)
            self.text(spec.dtype)
            self._dims(spec.shape)
            if spec.stride is not None:
                for dim in spec.stride:
                    self._dims((dim,))
        elif isinstance(spec, ScalarSpec):
            self.whole(3 if spec.expr is None else 4)
            self.text(spec.kind)
            if spec.expr is not None:
                self.text(spec.expr.text)
        else:
            self.whole(5)
            self.whole(len(spec))
            for item in spec:
                self._spec(item)

    def _inputs(self) -> None:
        entries = self.graph.inputs
        self.whole(len(entries))
        numbers = Writer()
        previous: dict[str, list[int]] = {}
        for entry in entries:
            parts = _NUMBER.split(entry.name)
            template = "#".join(parts[0::2])
            values = [int(part) for part in parts[1::2]]
            for value, before in zip(
                values, previous.get(template, [0] * len(values)), strict=True
            ):
                numbers.signed(value - before)
            previous[template] = values
            self.text(template)
        self.data += numbers.data
        for entry in entries:
            flags = (entry.local is not None) | (entry.original is not None) << 1
            self.data.append(ROLES.index(entry.role) << 2 | flags)
        for entry in entries:
            self.whole(self._spec_index(entry.spec))
        for entry in entries:
            for text in (entry.local, entry.original):
                if text is not None:
                    self.text(text)
        self._recipes([entry.recipe for entry in entries])

    def _recipes(self, recipes: list[Recipe]) -> None:
        for recipe in recipes:
            self.data.append(_RECIPES.index(type(recipe)))
        normals = [recipe for recipe in recipes if isinstance(recipe, Normal)]
        for field in ("mean", "std", "low", "high"):
            column = [getattr(recipe, field) for recipe in normals]
            known = [value for value in column if value is not None]
            self.numbers(
                [value is not None for value in column] if len(known) < len(column) else []
            )
            self.numbers(known)
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


_RECIPES: tuple[type[Recipe], ...] = (Normal, Uniform, Integers, Bernoulli, Constant, Literal)


class _GraphReader(Reader):
    def __init__(self, data: bytes, limits: Limits) -> None:
        super().__init__(data, limits)
        self.exprs: dict[int, Expr] = {}
        self.node: str | None = None
        self.field = "texts"

    def graph(self) -> Graph:
        self.place = len(MAGIC)
        try:
            graph = self._graph()
        except GraphError as error:
            node, field = error.node or self.node, error.field or self.field
            raise type(error)(error.reason, node=node and node[:80], field=field) from error
        check_sizes(graph, self.limits)
        return graph

    def _at(self, field: str, node: str | None = None) -> None:
        self.field, self.node = field, node

    def _graph(self) -> Graph:
        self.read_texts()
        self._at("level")
        level = self._choice(LEVELS)
        self._at("provenance")
        provenance = self._provenance()
        self._at("symbols")
        symbols = tuple([self._symbol() for _ in range(self.count(4))])
        self._at("constraints")
        constraints = tuple([self._expr(self.whole()) for _ in range(self.count())])
        self._at("result")
        self.specs = [None, *[self._spec() for _ in range(self.count())]]
        self._at("inputs")
        inputs = self._inputs()
        self._at("nodes")
        nodes = self._nodes([entry.name for entry in inputs])
        self._at("output")
        output = map_refs(self.value(), self._resolver(len(nodes)))
        if self.place != len(self.data):
            raise GraphError("bytes follow the end of the graph")
        return Graph(inputs, nodes, output, level, symbols, constraints, provenance)

    def _expr(self, index: int) -> Expr:
        # Each text is parsed once: a few bytes must not ask for the same work a million times.
        if index not in self.exprs:
            if index >= len(self.texts):
                raise GraphError("an expression is not in the table")
            self.exprs[index] = Expr(self.texts[index])
        return self.exprs[index]

    def _choice(self, options: tuple[T, ...]) -> T:
        index = self.byte()
        if index >= len(options):
            raise GraphError(f"option {index} of {len(options)}")
        return options[index]

    def _provenance(self) -> Provenance:
        words = {field: self.text() for field in _LONG_FIELDS}
        tags = tuple([self.text() for _ in range(self.count())])
        options = tuple([(self.text(), self.value()) for _ in range(self.count(2))])
        return Provenance(**words, tags=tags, options=options)

    def _symbol(self) -> Symbol:
        name, example, low, high = self.text(), self.value(), self.value(), self.value()
        if type(example) is not int or any(type(n) not in (int, type(None)) for n in (low, high)):
            raise GraphError("bounds that are no whole numbers", node=name[:80], field="symbols")
        return Symbol(name, example, low, high)  # type: ignore[arg-type]

    def _dims(self) -> tuple[Dim, ...]:
        dims: list[Dim] = []
        for _ in range(self.count()):
            code = self.whole()
            dims.append(self._expr(code >> 1) if code & 1 else code >> 1)
        self.spend(len(dims))
        return tuple(dims)

    def _spec(self, depth: int = 0) -> Result:
        if depth > self.limits.depth:
            raise LimitExceeded("a specification is nested too deeply", field="result")
        kind = self.whole()
        if kind in (1, 2):
            dtype, shape = self.text(), self._dims()
            stride = None
            if kind == 2:
                stride = tuple([dim for _ in shape for dim in self._dims()])
            return TensorSpec(shape, dtype, stride)
        if kind in (3, 4):
            name = self.text()
            return ScalarSpec(name, self._expr(self.whole()) if kind == 4 else None)
        if kind == 5:
            return tuple([self._spec(depth + 1) for _ in range(self.count())])
        if kind:
            raise GraphError(f"unknown specification {kind}", field="result")
        return None

    def _spec_at(self) -> Result:
        index = self.whole()
        if index >= len(self.specs):
            raise GraphError("a specification is not in the table", field="result")
        return self.specs[index]

    def _inputs(self) -> tuple[Input, ...]:
        count = self.count(4)
        if count > self.limits.inputs:
            raise LimitExceeded(f"{count} inputs; {self.limits.inputs} are allowed")
        templates = [self.text() for _ in range(count)]
        previous: dict[str, list[int]] = {}
        names = []
        for template in templates:
            parts = template.split("#")
            values = previous.setdefault(template, [0] * (len(parts) - 1))
            name = parts[0]
            for slot, part in enumerate(parts[1:]):
                values[slot] += self.signed()
                name += f"{values[slot]}{part}"
            names.append(name)
            self.spend(len(parts) + (len(name) >> NAME_SHIFT))
        flags = [self.byte() for _ in range(count)]
        specs = [self._spec_at() for _ in range(count)]
        extra = [
            (self.text() if flag & 1 else None, self.text() if flag & 2 else None) for flag in flags
        ]
        inputs = []
        for name, flag, spec, (local, original), recipe in zip(
            names, flags, specs, extra, self._recipes(names), strict=True
        ):
            if flag >> 2 >= len(ROLES) or not isinstance(spec, (TensorSpec, ScalarSpec)):
                raise GraphError("no role or no specification", node=name[:80], field="inputs")
            inputs.append(Input(name, spec, recipe, ROLES[flag >> 2], local, original))
        return tuple(inputs)

    def _recipes(self, names: list[str]) -> list[Recipe]:
        kinds = [self._choice(_RECIPES) for _ in names]
        normals = sum(kind is Normal for kind in kinds)
        columns = [self._normal_column(normals) for _ in range(4)]
        rows = iter(zip(*columns, strict=True))
        recipes = []
        for name, kind in zip(names, kinds, strict=True):
            self._at("recipe", name)
            try:
                recipes.append(self._recipe(kind, rows))
            except GraphError:
                raise
            except ValueError as error:
                raise GraphError(f"bad recipe: {error}") from error
        self._at("inputs")
        return recipes

    def _normal_column(self, count: int) -> list[object]:
        present, known = self.numbers(), iter(self.numbers())
        if present and len(present) != count:
            raise GraphError("a column of statistics has the wrong length", field="recipe")
        try:
            return [next(known) if not present or present[i] else None for i in range(count)]
        except StopIteration:
            raise GraphError("a column of statistics is too short", field="recipe") from None

    def _recipe(self, kind: type[Recipe], rows: Iterator[Any]) -> Recipe:
        if kind is Normal:
            return Normal(*next(rows))
        if kind is Literal:
            return Literal(self.numbers())
        values = [self.value() for _ in range(2 if kind in (Uniform, Integers) else 1)]
        if not all(isinstance(value, (bool, int, float, complex)) for value in values):
            raise GraphError("a recipe takes numbers", field="recipe")
        return kind(*values)  # type: ignore[arg-type]

    # -- nodes --------------------------------------------------------------------------------

    def reference(self) -> Value:
        # A placeholder: what it stands for depends on where the record is used.
        return Ref(str(self.whole()))

    def _nodes(self, inputs: list[str]) -> tuple[Node, ...]:
        self.input_names, self.node_names, self.cursor = inputs, list[str](), 0
        records = [self._record(place) for place in range(self.count(5))]
        self._at("nodes")
        sequence: list[int] = []
        for _ in range(self.count()):
            code = self.whole()
            if code & 1:
                distance, length = self.whole(), code >> 1
                if not 0 < distance <= len(sequence):
                    raise GraphError("a repeated block starts before the first node", field="nodes")
                if len(sequence) + length > self.limits.nodes:
                    raise LimitExceeded(f"more than {self.limits.nodes} nodes", field="nodes")
                for _ in range(length):
                    sequence.append(sequence[-distance])
            else:
                if code >> 1 >= len(records):
                    raise GraphError("a record is not in the table", field="nodes")
                sequence.append(code >> 1)
        if len(sequence) > self.limits.nodes:
            raise LimitExceeded(f"more than {self.limits.nodes} nodes", field="nodes")
        suffixes = _Suffixes()
        nodes = []
        for index in sequence:
            template, number, atoms = records[index]
            self.spend(atoms)
            nodes.append(self._expand(template, number, suffixes))
        return tuple(nodes)

    def _record(self, place: int) -> tuple[Node, int, int]:
        """A call, how its name is numbered, and how much one more of it costs."""
        self._at("target", f"record {place}")
        before = self.atoms
        target, base, number = self.text(), self.text(), self.whole()
        self._at("args", base)
        args = tuple([self.value() for _ in range(self.count())])
        self.field = "kwargs"
        kwargs = tuple([(self.text(), self.value()) for _ in range(self.count(2))])
        self.field = "result"
        node = Node(base, target, args, kwargs, self._spec_at())
        return node, number, before - self.atoms + 1 + (len(base) >> NAME_SHIFT)

    def _expand(self, template: Node, code: int, suffixes: _Suffixes) -> Node:
        base = template.name
        number = suffixes.guess(base) if code == 0 else None if code == 1 else code - 2
        suffixes.saw(base, number)
        self._at("args", join_suffix(base, number))
        resolve = self._resolver(len(self.node_names))
        node = Node(
            join_suffix(base, number),
            template.target,
            tuple([map_refs(value, resolve) for value in template.args]),
            tuple([(key, map_refs(value, resolve)) for key, value in template.kwargs]),
            template.result,
        )
        self.node_names.append(node.name)
        return node

    def _resolver(self, here: int) -> Callable[[Ref], Ref]:
        def resolve(ref: Ref) -> Ref:
            code, kind = divmod(int(ref.name), 3)
            if kind == INPUT:
                self.cursor += -(code + 1 >> 1) if code & 1 else code >> 1
                index, names = self.cursor, self.input_names
            else:
                index, names = here - code if kind == NEAR else code, self.node_names
            if not 0 <= index < len(names):
                raise GraphError("a reference points outside the graph")
            return Ref(names[index])

        return resolve
