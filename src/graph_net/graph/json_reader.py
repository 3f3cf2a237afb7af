"""The reader of the JSON form, from parsed JSON that may be hostile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Input, Level, Node, Provenance, Role, Symbol
from graph_net.graph.limits import GraphLimits
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe, Uniform
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.values import (
    DTYPES,
    INT_BITS,
    TORCH_CONSTANTS,
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
    plain_float,
)

FORMAT = "graph_net.graph"
T = TypeVar("T")
VERSION = 1
RECIPES: dict[str, type[Recipe]] = {
    "normal": Normal,
    "uniform": Uniform,
    "integers": Integers,
    "bernoulli": Bernoulli,
    "constant": Constant,
    "literal": Literal,
}
RECIPE_NAMES = {cls: name for name, cls in RECIPES.items()}


class JsonReader:
    """Turns parsed JSON into a Graph, checking every field."""

    def __init__(self, limits: GraphLimits) -> None:
        self.limits = limits
        self.atoms = limits.atoms

    def graph(self, tree: Any) -> Graph:
        head = self.fields(tree, "graph", Graph, extra=("format", "version"))
        if head.get("format") != FORMAT or head.get("version") != VERSION:
            raise GraphError(f"not a {FORMAT} of version {VERSION}", field="format")
        return Graph(
            inputs=self.each(self.input, head, "inputs", self.limits.inputs),
            nodes=self.each(self.node, head, "nodes", self.limits.nodes),
            output=self.value(head.get("output"), "output"),
            level=self.enum(Level, head.get("level"), "level"),
            symbols=self.each(self.symbol, head, "symbols", 10_000),
            constraints=tuple(
                self.expr(t, "constraints") for t in self.array(head, "constraints", 10_000)
            ),
            provenance=self.provenance(head.get("provenance", {})),
        )

    def fields(
        self, tree: Any, where: str, cls: type, extra: tuple[str, ...] = ()
    ) -> Mapping[str, Any]:
        if not isinstance(tree, dict):
            raise GraphError(f"{type(tree).__name__} where an object is expected", field=where)
        names = {f.name for f in fields(cls)} | set(extra)
        unknown = [str(key)[:40] for key in tree if key not in names]
        if unknown:
            raise GraphError(f"unknown field {unknown[0]!r}", field=where)
        return tree

    def array(self, tree: Mapping[str, Any], key: str, most: int) -> list[Any]:
        items = tree.get(key, [])
        if not isinstance(items, list):
            raise GraphError("not an array", field=key)
        if len(items) > most:
            raise LimitExceeded(f"{len(items)} entries; {most} are allowed", field=key)
        return items

    def each(
        self, read: Callable[[Any], T], tree: Mapping[str, Any], key: str, most: int
    ) -> tuple[T, ...]:
        """Read the entries of an array; an error names the entry, or its index."""
        entries = []
        for index, item in enumerate(self.array(tree, key, most)):
            try:
                entries.append(read(item))
            except GraphError as error:
                name = item.get("name") if isinstance(item, dict) else None
                label = name[:80] if isinstance(name, str) else f"number {index}"
                raise type(error)(error.reason, node=label, field=error.field or key) from error
        return tuple(entries)

    def text(self, tree: Any, where: str) -> str:
        if not isinstance(tree, str) or len(tree) > self.limits.text:
            raise GraphError(f"not a text of at most {self.limits.text} characters", field=where)
        return tree

    def expr(self, tree: Any, where: str) -> Expr:
        try:
            return Expr(self.text(tree, where))
        except GraphError as error:
            raise GraphError(error.reason, field=where) from error

    def integer(self, tree: Any, where: str) -> int:
        if type(tree) is not int or tree.bit_length() > INT_BITS:
            raise GraphError("not a 64-bit integer", field=where)
        return tree

    def enum(self, cls: Any, tree: Any, where: str) -> Any:
        names = [item.value for item in cls]
        if not isinstance(tree, str) or tree not in names:
            name = tree[:40] if isinstance(tree, str) else type(tree).__name__
            raise GraphError(f"{name!r} is not one of {', '.join(names)}", field=where)
        return cls(tree)

    def pairs(self, tree: Any, where: str, depth: int = 0) -> tuple[tuple[str, Value], ...]:
        is_list = isinstance(tree, list)
        if not is_list or not all(isinstance(pair, list) and len(pair) == 2 for pair in tree):
            raise GraphError("not an array of pairs", field=where)
        return tuple([(self.text(k, where), self.value(v, where, depth)) for k, v in tree])

    def provenance(self, tree: Any) -> Provenance:
        members = dict(self.fields(tree, "provenance", Provenance))
        tags = tuple(self.text(t, "tags") for t in self.array(members, "tags", 10_000))
        options = self.pairs(members.pop("options", []), "options")
        members.pop("tags", None)
        texts = {key: self.text(value, key) for key, value in members.items()}
        return Provenance(**texts, tags=tags, options=options)

    def symbol(self, tree: Any) -> Symbol:
        members = self.fields(tree, "symbols", Symbol)
        numbers = {key: self.integer(value, key) for key, value in members.items() if key != "name"}
        if "example" not in numbers:
            raise GraphError("a symbol without an example value", field="symbols")
        return Symbol(self.text(members.get("name"), "symbols"), **numbers)

    def input(self, tree: Any) -> Input:
        members = self.fields(tree, "inputs", Input)
        spec = self.result(members.get("spec"))
        if not isinstance(spec, (TensorSpec, ScalarSpec)):
            raise GraphError("neither a tensor nor a number", field="spec")
        return Input(
            self.text(members.get("name"), "name"),
            spec,
            self.recipe(members.get("recipe")),
            self.enum(Role, members.get("role", "input"), "role"),
            self.text(members["local"], "local") if "local" in members else None,
            self.text(members["original"], "original") if "original" in members else None,
        )

    def node(self, tree: Any) -> Node:
        members = self.fields(tree, "nodes", Node)
        return Node(
            self.text(members.get("name"), "name"),
            self.text(members.get("target"), "target"),
            tuple([self.value(v, "args") for v in self.array(members, "args", self.limits.atoms)]),
            self.pairs(members.get("kwargs", []), "kwargs"),
            self.result(members.get("result")),
        )

    def recipe(self, tree: Any) -> Recipe:
        kind = tree.get("kind") if isinstance(tree, dict) else None
        if not isinstance(kind, str) or kind not in RECIPES:
            raise GraphError(f"not a recipe; the kinds are {', '.join(RECIPES)}", field="recipe")
        cls = RECIPES[kind]
        members = self.fields(tree, "recipe", cls, extra=("kind",))
        values: dict[str, Any] = {}
        for key, item in members.items():
            if key == "kind":
                continue
            if key == "values":
                literal = self.array(members, key, self.limits.literal)
                values[key] = tuple(self.number(number, "recipe") for number in literal)
            else:
                values[key] = None if item is None else self.number(item, "recipe")
        if cls is Normal:
            values = {"mean": None, "std": None, **values}
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise GraphError(f"bad recipe: {error}", field="recipe") from error

    def number(self, tree: Any, where: str) -> Any:
        value = self.value(tree, where)
        if not isinstance(value, (bool, int, float, complex)):
            raise GraphError("not a number", field=where)
        return value

    def dims(self, tree: Any, where: str) -> tuple[Dim, ...]:
        if not isinstance(tree, list) or len(tree) > 64:
            raise GraphError("not a list of at most 64 sizes", field=where)
        return tuple(
            self.expr(dim, where) if isinstance(dim, str) else self.integer(dim, where)
            for dim in tree
        )

    def result(self, tree: Any, depth: int = 0) -> Result:
        if tree is None:
            return None
        if depth > self.limits.depth:
            raise LimitExceeded("nested too deeply", field="result")
        if isinstance(tree, list):
            self.spend(len(tree), "result")
            return tuple(self.result(item, depth + 1) for item in tree)
        if not isinstance(tree, dict):
            raise GraphError("not a spec", field="result")
        if "scalar" in tree and not tree.keys() - {"scalar", "expr"}:
            expr = tree.get("expr")
            kind = self.text(tree["scalar"], "result")
            return ScalarSpec(kind, None if expr is None else self.expr(expr, "expr"))
        members: Mapping[str, Any] = self.fields(tree, "result", TensorSpec)
        stride = members.get("stride")
        return TensorSpec(
            self.dims(members.get("shape"), "shape"),
            self.text(members.get("dtype"), "dtype"),
            None if stride is None else self.dims(stride, "stride"),
        )

    def spend(self, atoms: int, where: str) -> None:
        self.atoms -= atoms
        if self.atoms < 0:
            raise LimitExceeded(f"more than {self.limits.atoms} values", field=where)

    def value(self, tree: Any, where: str, depth: int = 0) -> Value:
        if depth > self.limits.depth:
            raise LimitExceeded("nested too deeply", field=where)
        self.spend(1, where)
        if tree is None or isinstance(tree, bool):
            return tree
        if isinstance(tree, int):
            return self.integer(tree, where)
        if isinstance(tree, float):
            return plain_float(tree)
        if isinstance(tree, str):
            return self.text(tree, where)
        if isinstance(tree, list):
            return ListValue(tuple(self.value(item, where, depth + 1) for item in tree))
        if not isinstance(tree, dict) or len(tree) != 1:
            raise GraphError("not a value", field=where)
        ((kind, item),) = tree.items()
        return self.tagged(str(kind), item, where, depth)

    def tagged(self, kind: str, item: Any, where: str, depth: int) -> Value:
        match kind, item:
            case "ref", str():
                return Ref(self.text(item, where))
            case "tuple", list():
                return tuple(self.value(part, where, depth + 1) for part in item)
            case "slice", [start, stop, step]:
                parts = (self.value(part, where, depth + 1) for part in (start, stop, step))
                return Slice(*parts)
            case "dict", list():
                return DictValue(self.pairs(item, where, depth + 1))
            case "dtype", str() if item in DTYPES:
                return Dtype(item)
            case "torch", str() if item in TORCH_CONSTANTS:
                return TorchConstant(item)
            case "device", "run" | "type":
                return RunDevice(as_text=item == "type")
            case "float", "inf" | "-inf" | "nan":
                return plain_float(float(item))
            case "complex", [real, imag]:
                a, b = self.value(real, where, depth + 1), self.value(imag, where, depth + 1)
                if isinstance(a, float) and isinstance(b, float):
                    return complex(a, b)
            case "ellipsis", True:
                return ...
        raise GraphError(f"not a value: {kind[:40]!r}", field=where)
