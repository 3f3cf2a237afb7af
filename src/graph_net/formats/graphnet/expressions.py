"""Expressions of a sample's source as values and nodes; nothing is executed."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from itertools import count
from typing import Any

from graph_net.formats.graphnet.parsing import excerpt
from graph_net.formats.graphnet.signs import BINARY_TREES, COMPARISON_TREES, UNARY_TREES
from graph_net.graph.devices import Args, Kwargs, without_devices
from graph_net.graph.errors import GraphError, LimitExceeded, UnknownTarget
from graph_net.graph.graph import Node
from graph_net.graph.limits import GraphLimits
from graph_net.graph.targets import (
    ATTRIBUTES,
    BUILTINS,
    canonical_target,
    check_target,
    is_allowed,
    is_overload,
)
from graph_net.graph.values import (
    DTYPE_ALIASES,
    DTYPES,
    TORCH_CONSTANTS,
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
    items_of,
    plain_float,
)

_FLOATS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "infty": math.inf}
_BUILTIN_NAMES = BUILTINS - {"slice"}
# FX names a function that it cannot spell as a path by a global of its own.
_FX_GLOBALS = {"_operator_": "operator", "math_": "math", "builtins_": "builtins"}


class ExpressionReader:
    """Turns syntax trees into values; ``names`` maps the source's variables to values."""

    def __init__(self, limits: GraphLimits) -> None:
        self.limits = limits
        self.names: dict[str, Value] = {}
        self.nodes: list[Node] = []
        self.taken: set[str] = set()
        self.imports: dict[str, str] = {}
        self.numbers = count(1)
        self.depth = 0
        self.atoms = limits.atoms
        self.expressions: dict[type[ast.expr], Callable[[Any, str | None], Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Tuple: self._tuple,
            ast.List: self._list,
            ast.Dict: self._dict,
            ast.Slice: self._slice,
            ast.Subscript: self._subscript,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
        }

    # -- expressions --------------------------------------------------------------------------

    def value(self, tree: ast.expr, name: str | None = None) -> Value:
        read = self.expressions.get(tree.__class__)
        if read is None:
            raise self.unreadable(tree)
        self.depth += 1
        if self.depth > self.limits.depth:
            raise LimitExceeded("expression nested too deeply", line=tree.lineno)
        result = read(tree, name)
        self.depth -= 1
        return result

    def _constant(self, tree: ast.Constant, name: str | None) -> Value:
        value = tree.value
        if isinstance(value, float):
            return plain_float(value)
        if isinstance(value, bytes):
            raise self.unreadable(tree)
        if isinstance(value, str) and len(value) > self.limits.text:
            raise LimitExceeded("string literal too long", line=tree.lineno)
        return value

    def _name(self, tree: ast.Name, name: str | None) -> Value:
        try:
            value = self.names[tree.id]
        except KeyError:
            return self._named_constant(self.imports.get(tree.id, tree.id), tree)
        if isinstance(value, (tuple, ListValue, DictValue, Slice)):
            self._repeat(value, self.depth, tree.lineno)
        return value

    def _repeat(self, value: Value, depth: int, line: int) -> None:
        """Count a container that is used again: a few lines could double it without bound."""
        self.atoms -= 1
        if self.atoms < 0 or depth > self.limits.depth:
            raise LimitExceeded("a container is too large or nested too deeply", line=line)
        for item in items_of(value):
            self._repeat(item, depth + 1, line)

    def _named_constant(self, path: str, tree: ast.expr) -> Value:
        owner, _, name = path.rpartition(".")
        if path == "Ellipsis":
            return ...
        if owner in ("torch", "math", ""):
            if name in _FLOATS:
                return _FLOATS[name]
            name = DTYPE_ALIASES.get(name, name)
            if owner == "torch" and name in DTYPES:
                return Dtype(name)
            if owner == "torch" and name in TORCH_CONSTANTS:
                return TorchConstant(name)
        raise GraphError(f"unknown name {path[:120]!r}", line=tree.lineno)

    def _attribute(self, tree: ast.Attribute, name: str | None) -> Value:
        path = self._path(tree)
        if path is not None:
            return self._named_constant(path, tree)
        if tree.attr not in ATTRIBUTES:
            raise GraphError(f"reads the attribute {tree.attr!r}", line=tree.lineno)
        owner = self.value(tree.value)
        return self.node("builtins.getattr", (owner, tree.attr), (), name, tree)

    def _tuple(self, tree: ast.Tuple, name: str | None) -> Value:
        return tuple([self.value(item) for item in tree.elts])

    def _list(self, tree: ast.List, name: str | None) -> Value:
        return ListValue(tuple([self.value(item) for item in tree.elts]))

    def _dict(self, tree: ast.Dict, name: str | None) -> Value:
        items = []
        for key, item in zip(tree.keys, tree.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise GraphError("a dictionary key is not a string", line=tree.lineno)
            items.append((key.value, self.value(item)))
        return DictValue(tuple(items))

    def _slice(self, tree: ast.Slice, name: str | None) -> Value:
        parts = (tree.lower, tree.upper, tree.step)
        return Slice(*(None if part is None else self.value(part) for part in parts))

    def _subscript(self, tree: ast.Subscript, name: str | None) -> Value:
        container, index = self.value(tree.value), self.value(tree.slice)
        return self.node("operator.getitem", (container, index), (), name, tree)

    def _binary(self, tree: ast.BinOp, name: str | None) -> Value:
        target = f"operator.{BINARY_TREES[tree.op.__class__]}"
        return self.node(target, (self.value(tree.left), self.value(tree.right)), (), name, tree)

    def _unary(self, tree: ast.UnaryOp, name: str | None) -> Value:
        operand = self.value(tree.operand)
        if operand.__class__ in (int, float, complex):
            if tree.op.__class__ is ast.USub:
                return -operand
            if tree.op.__class__ is ast.UAdd:
                return operand
        return self.node(f"operator.{UNARY_TREES[tree.op.__class__]}", (operand,), (), name, tree)

    def _compare(self, tree: ast.Compare, name: str | None) -> Value:
        function = COMPARISON_TREES.get(tree.ops[0].__class__)
        if len(tree.ops) != 1 or function is None:
            raise self.unreadable(tree)
        operands = (self.value(tree.left), self.value(tree.comparators[0]))
        return self.node(f"operator.{function}", operands, (), name, tree)

    # -- calls --------------------------------------------------------------------------------

    def _call(self, tree: ast.Call, name: str | None) -> Value:
        function = tree.func
        path = self._path(function)
        owner: tuple[Value, ...] = ()
        if path is None:
            if function.__class__ is not ast.Attribute:
                raise self.unreadable(function)
            owner = (self.value(function.value),)
            target = f"method:{function.attr}"
        else:
            target = canonical_target(path)
            if is_overload(target) and not path.startswith("torch.ops."):
                # `os.system` is spelled like an operator of a namespace `os`.
                why = f"{path[:120]!r} is not on the allow-list of call targets"
                raise UnknownTarget(why, field="target", line=tree.lineno)
        keywords = [self._keyword(keyword) for keyword in tree.keywords]
        kwargs = tuple([(key, self.value(value)) for key, value in keywords])
        args = owner + tuple([self.value(argument) for argument in tree.args])
        if not is_allowed(target) and target != "method:cuda":
            return self._special_call(target, args, kwargs, name, tree)
        return self.node(*without_devices(target, args, kwargs), name, tree)

    def _special_call(
        self, target: str, args: Args, kwargs: Kwargs, name: str | None, tree: ast.Call
    ) -> Value:
        if target == "torch.device":
            return RunDevice()
        if target == "complex":
            match args:
                case (float(real), float(imaginary)):
                    return complex(real, imaginary)
        if target == "slice" and not kwargs and 1 <= len(args) <= 3:
            start, stop, step = (None, *args, None) if len(args) == 1 else (*args, None)[:3]
            return Slice(start, stop, step)
        if target == "getattr" and (len(args) != 2 or args[1] not in ATTRIBUTES):
            raise GraphError(f"reads the attribute {str(args[1:])[:80]}", line=tree.lineno)
        if target in _BUILTIN_NAMES:
            return self.node(f"builtins.{target}", args, kwargs, name, tree)
        for prefix, module in _FX_GLOBALS.items():
            spelled = f"{module}.{target.removeprefix(prefix)}"
            if target.startswith(prefix) and is_allowed(spelled):
                return self.node(spelled, args, kwargs, name, tree)
        check_target(target, line=tree.lineno)
        raise AssertionError(target)

    def _keyword(self, keyword: ast.keyword) -> tuple[str, ast.expr]:
        if keyword.arg is not None:
            return keyword.arg, keyword.value
        match keyword.value:
            case ast.Dict(keys=[ast.Constant(value=str(key))], values=[value]):
                # How a Python keyword such as ``from`` is passed.
                return key, value
        raise GraphError("passes **keywords, which cannot be read", line=keyword.lineno)

    def _path(self, tree: ast.expr) -> str | None:
        """Return the dotted path of a name that is not a value of the graph, else None."""
        if tree.__class__ is ast.Name:
            return None if tree.id in self.names else self.imports.get(tree.id, tree.id)
        if tree.__class__ is ast.Attribute:
            owner = self._path(tree.value)
            return None if owner is None else f"{owner}.{tree.attr}"
        return None

    def node(
        self, target: str, args: Args, kwargs: Kwargs, name: str | None, tree: ast.expr | ast.stmt
    ) -> Value:
        if name is None or name in self.taken:
            stem = name or target.rpartition(".")[2].rpartition(":")[2].strip("_") or "value"
            name = next(n for i in self.numbers if (n := f"{stem}_v{i}") not in self.taken)
        if len(self.nodes) >= self.limits.nodes:
            raise LimitExceeded(f"more than {self.limits.nodes} calls", line=tree.lineno)
        self.taken.add(name)
        self.nodes.append(Node(name, target, args, kwargs))
        return Ref(name)

    def unreadable(self, tree: ast.AST) -> GraphError:
        line = getattr(tree, "lineno", None)
        kind = type(tree).__name__
        return GraphError(f"a graph cannot hold this {kind}: {excerpt(tree)}", line=line)
