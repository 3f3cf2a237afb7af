"""The invariants of a Graph, checked whenever one is constructed.

Names are unique identifiers, targets are on the allow-list, references point backwards, sizes use
declared symbols, and every number and text can be stored and read back.
"""

from __future__ import annotations

import keyword
import unicodedata
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING

from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import FUNCTIONS, Expr
from graph_net.graph.hlo_targets import check_hlo_target
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits
from graph_net.graph.paddle_targets import ATTRIBUTES as PADDLE_ATTRIBUTES
from graph_net.graph.paddle_targets import check_paddle_target
from graph_net.graph.recipe import Literal, Recipe
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.targets import ATTRIBUTES, check_target, is_aten_level
from graph_net.graph.values import (
    INT_BITS,
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
    items_of,
)

if TYPE_CHECKING:
    from graph_net.graph.graph import Graph, Input, Node, Provenance

_NO_NAMES: frozenset[str] = frozenset()
_RESERVED_SYMBOLS = FUNCTIONS | {"Symbol", "Expr", "Rel"}
_RESERVED_PREFIX = "dynamic_dim_constraint_"
_ATOMS = (NoneType, float, complex, EllipsisType, Dtype, TorchConstant, RunDevice)


def check_graph(graph: Graph) -> None:
    """Raise a GraphError that names node and field unless the graph is well formed."""
    _Checker(graph).check()


def check_sizes(graph: Graph, limits: GraphLimits) -> None:
    """Raise unless the size of every input can be computed and is within the limits."""
    for entry in graph.inputs:
        if isinstance(entry.spec, TensorSpec):
            try:
                elements = entry.spec.elements(graph.bindings)
                entry.spec.strides(graph.bindings)
            except GraphError as error:
                raise GraphError(error.reason, node=entry.name[:80], field="shape") from error
            if elements > limits.tensor_elements:
                raise LimitExceeded(
                    f"a tensor of more than {limits.tensor_elements} elements",
                    node=entry.name[:80],
                    field="shape",
                )


class _Checker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.symbols = frozenset(symbol.name for symbol in graph.symbols)
        self.aten = graph.level.value == "aten"
        self.paddle = graph.level.value == "paddle"
        self.hlo = graph.level.value == "hlo"
        self.names: set[str] = set()
        # Nodes share specs: each is checked once, or a small file could cost hours.
        self.checked: set[int] = set()
        self.exprs: set[Expr] = set()

    def check(self) -> None:
        graph = self.graph
        self._symbols()
        for entry in graph.inputs:
            self._input(entry)
        for node in graph.nodes:
            self._node(node)
        try:
            check_value(graph.output, self.names)
        except GraphError as error:
            raise GraphError(error.reason, field="output") from error
        check_provenance(graph.provenance)

    def _symbols(self) -> None:
        names: set[str] = set()
        for symbol in self.graph.symbols:
            _check_name(symbol.name, names)
            if symbol.name in _RESERVED_SYMBOLS or symbol.name.startswith(_RESERVED_PREFIX):
                why = f"{symbol.name[:80]!r} is a reserved name; rename the symbol"
                raise GraphError(why, node=symbol.name[:80], field="symbols")
            names.add(symbol.name)
            bounds = [bound for bound in (symbol.low, symbol.high) if bound is not None]
            if not all(_is_int64(number) for number in (symbol.example, *bounds)):
                raise GraphError("not a 64-bit integer", node=symbol.name[:80], field="symbols")
        for constraint in self.graph.constraints:
            self._expr(constraint, None, "constraints")

    def _input(self, entry: Input) -> None:
        _check_name(entry.name, self.names)
        if entry.local is not None:
            _check_identifier(entry.local, entry.name, "local")
        if entry.original is not None:
            _check_text(entry.original, entry.name, "original")
        if not isinstance(entry.spec, (TensorSpec, ScalarSpec)):
            raise GraphError("neither a tensor nor a number", node=entry.name, field="spec")
        self._spec(entry.spec, entry.name, "spec")
        _check_recipe(entry.recipe, entry.name)
        self.names.add(entry.name)

    def _node(self, node: Node) -> None:
        name = node.name
        _check_name(name, self.names)
        if self.paddle:
            check_paddle_target(node.target, name)
        elif self.hlo:
            check_hlo_target(node.target, name)
        else:
            check_target(node.target, name)
        if self.aten and not is_aten_level(node.target):
            why = f"{node.target} is not an ATen operator, but the graph is at level aten"
            raise GraphError(why, node=name, field="target")
        field = "args"
        try:
            check_value(node.args, self.names, -1)
            field = "kwargs"
            for _, value in node.kwargs:
                check_value(value, self.names)
        except GraphError as error:
            raise GraphError(error.reason, node=name, field=field) from error
        if node.kwargs:
            _check_keywords(node)
        if node.target == "builtins.getattr":
            _check_attribute(node, PADDLE_ATTRIBUTES if self.paddle else ATTRIBUTES)
        if node.result is not None:
            self._spec(node.result, name, "result")
        self.names.add(name)

    def _spec(self, spec: Result, node: str, field: str, depth: int = 0) -> None:
        if id(spec) in self.checked:
            return
        if depth > DEFAULT_LIMITS.depth:
            raise GraphError("a spec is nested too deeply", node=node, field=field)
        if isinstance(spec, TensorSpec):
            for dims in (spec.shape, spec.stride or ()):
                for dim in dims:
                    if dim.__class__ is Expr:
                        self._expr(dim, node, field)
        elif isinstance(spec, tuple):
            for item in spec:
                self._spec(item, node, field, depth + 1)
        elif isinstance(spec, ScalarSpec):
            if spec.expr is not None:
                self._expr(spec.expr, node, field)
        elif spec is not None:
            raise GraphError(f"a {type(spec).__name__} is not a spec", node=node, field=field)
        self.checked.add(id(spec))

    def _expr(self, expr: Expr, node: str | None, field: str) -> None:
        if expr in self.exprs:
            return
        unknown = expr.symbols - self.symbols
        if unknown:
            names = ", ".join(sorted(unknown))
            raise GraphError(f"undeclared symbols {names[:80]}", node=node, field=field)
        self.exprs.add(expr)


def check_value(value: Value, names: set[str] | frozenset[str], depth: int = 0) -> None:
    """Raise unless a value can be stored and refers only to these names."""
    if isinstance(value, Ref):
        if value.name not in names:
            raise GraphError(f"reads {value.name[:80]!r}, which is not an earlier value")
    elif isinstance(value, int):
        if value.bit_length() > INT_BITS:
            raise GraphError("an integer of more than 64 bits")
    elif isinstance(value, str):
        _check_text(value)
    elif isinstance(value, (tuple, ListValue, DictValue, Slice)):
        if depth > DEFAULT_LIMITS.depth:
            raise GraphError("a value is nested too deeply")
        for item in items_of(value):
            check_value(item, names, depth + 1)
    elif not isinstance(value, _ATOMS):
        raise GraphError(f"a {type(value).__name__} cannot be stored as a value")


def check_provenance(origin: Provenance) -> None:
    """Raise unless a graph's provenance can be stored."""
    for field in ("library", "model", "category", "subcategory", "framework", "framework_version"):
        _check_text(getattr(origin, field), field=field)
    for tag in origin.tags:
        _check_text(tag, field="tags")
    for key, value in origin.options:
        try:
            _check_text(key)
            check_value(value, _NO_NAMES)
        except GraphError as error:
            raise GraphError(error.reason, field="options") from error


def _is_int64(number: object) -> bool:
    return type(number) is int and number.bit_length() <= INT_BITS


def _check_text(text: str, node: str | None = None, field: str | None = None) -> None:
    if not isinstance(text, str) or len(text) > DEFAULT_LIMITS.text:
        why = f"not a text of at most {DEFAULT_LIMITS.text} characters"
        raise GraphError(why, node=node, field=field)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise GraphError("a text with a lone surrogate", node=node, field=field)


def _check_identifier(name: str, node: str, field: str) -> None:
    if not isinstance(name, str) or not _is_usable(name):
        raise GraphError(f"{name[:80]!r} is not a usable name", node=node[:80], field=field)
    if len(name) > DEFAULT_LIMITS.text:
        raise GraphError("a name is too long", node=node[:80], field=field)


def _is_usable(name: str) -> bool:
    """Return whether a name is a valid identifier that Python does not normalise to another."""
    if not name.isidentifier() or keyword.iskeyword(name) or name == "__debug__":
        return False
    return name.isascii() or unicodedata.is_normalized("NFKC", name)


def _check_name(name: str, taken: set[str]) -> None:
    _check_identifier(name, name, "name")
    if name in taken:
        raise GraphError(f"the name {name[:80]!r} is used twice", node=name[:80], field="name")


def _check_keywords(node: Node) -> None:
    keys: set[str] = set()
    for key, _ in node.kwargs:
        # Some operators have a parameter `from`, so Python keywords are allowed.
        if not key.isidentifier() or not unicodedata.is_normalized("NFKC", key):
            raise GraphError(f"bad keyword {key[:80]!r}", node=node.name, field="kwargs")
        if key in keys:
            raise GraphError(f"the keyword {key!r} is given twice", node=node.name, field="kwargs")
        keys.add(key)


def _check_attribute(node: Node, allowed: frozenset[str]) -> None:
    attribute = node.args[1] if len(node.args) == 2 and not node.kwargs else None
    if not isinstance(attribute, str) or attribute not in allowed:
        why = f"reads the attribute {str(attribute)[:40]!r}, which is not on the allow-list"
        raise GraphError(why, node=node.name, field="args")


def _check_recipe(recipe: Recipe, node: str) -> None:
    if isinstance(recipe, Literal):
        if len(recipe.values) > DEFAULT_LIMITS.literal:
            raise GraphError("too many literal values", node=node, field="recipe")
        numbers: tuple[object, ...] = recipe.values
    elif isinstance(recipe, Recipe):
        numbers = tuple([getattr(recipe, name) for name in recipe.__slots__])
    else:
        raise GraphError(f"a {type(recipe).__name__} is not a recipe", node=node, field="recipe")
    for number in numbers:
        if type(number) is int and not _is_int64(number):
            raise GraphError("an integer of more than 64 bits", node=node, field="recipe")
