"""The reader of the binary form, from bytes that may be hostile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from graph_net.graph.binary_layout import (
    INPUT,
    LEVELS,
    LONG_FIELDS,
    MAGIC,
    NAME_SHIFT,
    NEAR,
    RECIPES,
    ROLES,
    NameSuffixGuess,
    join_suffix,
)
from graph_net.graph.byte_reader import Reader
from graph_net.graph.checks import check_sizes
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Input, Node, Provenance, Symbol
from graph_net.graph.limits import GraphLimits
from graph_net.graph.recipe import Integers, Literal, Normal, Recipe, Uniform
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.values import Ref, Value, map_refs

T = TypeVar("T")


class GraphReader(Reader):
    """Reads one graph; an error names the node and the field it occurred in."""

    def __init__(self, data: bytes, limits: GraphLimits) -> None:
        super().__init__(data, limits)
        self.exprs: dict[int, Expr] = {}
        self.node: str | None = None
        self.field = "texts"

    def graph(self) -> Graph:
        self.position = len(MAGIC)
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
        constraints = tuple([self._expr(self.varint()) for _ in range(self.count())])
        self._at("result")
        self.specs = [None, *[self._spec() for _ in range(self.count())]]
        self._at("inputs")
        inputs = self._inputs()
        self._at("nodes")
        nodes = self._nodes([entry.name for entry in inputs])
        self._at("output")
        output = map_refs(self.value(), self._resolver(len(nodes)))
        if self.position != len(self.data):
            raise GraphError("bytes follow the end of the graph")
        return Graph(inputs, nodes, output, level, symbols, constraints, provenance)

    def _expr(self, index: int) -> Expr:
        # Each text is parsed once: a few bytes must not cost the same work a million times.
        if index not in self.exprs:
            if index >= len(self.texts):
                raise GraphError("an expression is not in the table")
            self.exprs[index] = Expr(self.texts[index])
        return self.exprs[index]

    def _choice(self, options: tuple[T, ...]) -> T:
        index = self.byte()
        if index >= len(options):
            raise GraphError(f"option {index}; there are {len(options)}")
        return options[index]

    def _provenance(self) -> Provenance:
        fields = {field: self.text() for field in LONG_FIELDS}
        tags = tuple([self.text() for _ in range(self.count())])
        options = tuple([(self.text(), self.value()) for _ in range(self.count(2))])
        return Provenance(**fields, tags=tags, options=options)

    def _symbol(self) -> Symbol:
        name, example, low, high = self.text(), self.value(), self.value(), self.value()
        if type(example) is not int or any(type(n) not in (int, type(None)) for n in (low, high)):
            raise GraphError("bounds that are not integers", node=name[:80], field="symbols")
        return Symbol(name, example, low, high)  # type: ignore[arg-type]

    def _dims(self) -> tuple[Dim, ...]:
        dims: list[Dim] = []
        for _ in range(self.count()):
            code = self.varint()
            dims.append(self._expr(code >> 1) if code & 1 else code >> 1)
        self.spend(len(dims))
        return tuple(dims)

    def _spec(self, depth: int = 0) -> Result:
        if depth > self.limits.depth:
            raise LimitExceeded("a spec is nested too deeply", field="result")
        kind = self.varint()
        if kind in (1, 2):
            dtype, shape = self.text(), self._dims()
            stride = None
            if kind == 2:
                stride = tuple([dim for _ in shape for dim in self._dims()])
            return TensorSpec(shape, dtype, stride)
        if kind in (3, 4):
            name = self.text()
            return ScalarSpec(name, self._expr(self.varint()) if kind == 4 else None)
        if kind == 5:
            return tuple([self._spec(depth + 1) for _ in range(self.count())])
        if kind:
            raise GraphError(f"unknown spec {kind}", field="result")
        return None

    def _spec_at(self) -> Result:
        index = self.varint()
        if index >= len(self.specs):
            raise GraphError("a spec is not in the table", field="result")
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
                values[slot] += self.signed_varint()
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
                raise GraphError("an unknown role, or no spec", node=name[:80], field="inputs")
            inputs.append(Input(name, spec, recipe, ROLES[flag >> 2], local, original))
        return tuple(inputs)

    def _recipes(self, names: list[str]) -> list[Recipe]:
        kinds = [self._choice(RECIPES) for _ in names]
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
        present, values = self.numbers(), iter(self.numbers())
        if present and len(present) != count:
            raise GraphError("a column of statistics has the wrong length", field="recipe")
        try:
            return [next(values) if not present or present[i] else None for i in range(count)]
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
        # A placeholder: its meaning depends on where the record is used.
        return Ref(str(self.varint()))

    def _nodes(self, inputs: list[str]) -> tuple[Node, ...]:
        self.input_names, self.node_names, self.cursor = inputs, list[str](), 0
        records = [self._record(index) for index in range(self.count(5))]
        self._at("nodes")
        sequence: list[int] = []
        for _ in range(self.count()):
            code = self.varint()
            if code & 1:
                distance, length = self.varint(), code >> 1
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
        suffixes = NameSuffixGuess()
        nodes = []
        for index in sequence:
            template, number, atoms = records[index]
            self.spend(atoms)
            nodes.append(self._expand(template, number, suffixes))
        return tuple(nodes)

    def _record(self, index: int) -> tuple[Node, int, int]:
        """Read a call; return it with the number in its name and its cost in atoms."""
        self._at("target", f"record {index}")
        before = self.atoms
        target, base, number = self.text(), self.text(), self.varint()
        self._at("args", base)
        args = tuple([self.value() for _ in range(self.count())])
        self.field = "kwargs"
        kwargs = tuple([(self.text(), self.value()) for _ in range(self.count(2))])
        self.field = "result"
        node = Node(base, target, args, kwargs, self._spec_at())
        return node, number, before - self.atoms + 1 + (len(base) >> NAME_SHIFT)

    def _expand(self, template: Node, code: int, suffixes: NameSuffixGuess) -> Node:
        base = template.name
        number = suffixes.guess(base) if code == 0 else None if code == 1 else code - 2
        suffixes.record(base, number)
        name = join_suffix(base, number)
        self._at("args", name)
        node = template.with_refs(self._resolver(len(self.node_names)), name)
        self.node_names.append(name)
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
