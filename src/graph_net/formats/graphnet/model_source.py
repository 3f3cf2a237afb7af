"""``model.py`` of a GraphNet sample, read by walking its syntax tree: nothing is executed."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from itertools import count

from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.graph import Node
from graph_net.graph.limits import Limits
from graph_net.graph.targets import ATTRIBUTES, canonical_target, check_target, is_allowed
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
    plain_float,
)

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_UNARY: dict[type[ast.AST], str] = {
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Not: "not_",
}
_COMPARE: dict[type[ast.AST], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Is: "is_",
    ast.IsNot: "is_not",
}
_FLOATS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "infty": math.inf}
_DEVICE_WORDS = ("cpu", "cuda", "xpu", "mps", "npu", "hpu", "xla", "mlu", "musa", "maca")
_BUILTIN_NAMES = frozenset("max min abs int float bool round sum len tuple list getattr".split())
# FX calls what it cannot spell as a path by a global of its own making.
_FX_GLOBALS = {"_operator_": "operator", "math_": "math", "builtins_": "builtins"}
_TENSOR_TYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of ``forward``: its name, its annotation, and what the body calls it."""

    name: str
    annotation: str
    local: str | None


@dataclass(frozen=True, slots=True)
class Body:
    """What ``forward`` computes."""

    arguments: tuple[Argument, ...]
    nodes: tuple[Node, ...]
    output: Value


def read_model(source: str, limits: Limits) -> Body:
    """The body of the ``forward`` method in the source of a ``model.py``."""
    return _Reader(limits).read(parse(source, "model.py"))


def parse(source: str, file: str) -> ast.Module:
    """The syntax tree of a source file."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise GraphError(f"{file} is not valid Python: {error.msg}", line=error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise GraphError(f"{file} cannot be parsed: {error}") from error


def is_device_text(text: str) -> bool:
    """Whether a string names a device, such as ``cuda:0``."""
    return text.partition(":")[0] in _DEVICE_WORDS


class _Reader:
    """Walks one module; ``names`` maps what the source calls a value to the value."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.names: dict[str, Value] = {}
        self.nodes: list[Node] = []
        self.taken: set[str] = set()
        self.locals: dict[str, str] = {}
        self.imports: dict[str, str] = {}
        self.numbers = count(1)
        self.depth = 0
        self.expressions = {
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

    # -- the module ---------------------------------------------------------------------------

    def read(self, module: ast.Module) -> Body:
        forward = None
        for statement in module.body:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    self.imports[alias.asname or alias.name.partition(".")[0]] = alias.name
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    self.imports[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
            elif isinstance(statement, ast.ClassDef) and forward is None:
                for item in statement.body:
                    if isinstance(item, ast.FunctionDef) and item.name == "forward":
                        forward = item
        if forward is None:
            raise GraphError("model.py has no class with a forward method")
        signature = forward.args
        if signature.vararg or signature.kwarg or signature.kwonlyargs:
            raise GraphError("forward takes * or keyword-only arguments", line=forward.lineno)
        given = [*signature.posonlyargs, *signature.args][1:]
        if len(given) > self.limits.inputs:
            raise LimitExceeded(f"{len(given)} arguments; {self.limits.inputs} are allowed")
        for argument in given:
            self.names[argument.arg] = Ref(argument.arg)
        self.taken.update(self.names)
        arguments = set(self.taken)
        output = self._body(forward.body, arguments)
        return Body(
            tuple(
                Argument(
                    argument.arg,
                    _dotted(argument.annotation) if argument.annotation else "",
                    self.locals.get(argument.arg),
                )
                for argument in given
            ),
            tuple(self.nodes),
            output,
        )

    def _body(self, statements: list[ast.stmt], arguments: set[str]) -> Value:
        names, expressions = self.names, self.expressions
        skip = False
        for position, statement in enumerate(statements):
            if skip:
                skip = False
                continue
            kind = statement.__class__
            if kind is ast.Assign:
                value = statement.value  # type: ignore[attr-defined]
                targets = statement.targets  # type: ignore[attr-defined]
                target = targets[0]
                if value.__class__ is ast.Constant and value.value is None:
                    # FX frees a dead value this way; a later read would see None in Python too.
                    for target in targets:
                        self._store(target, None, statement)
                elif target.__class__ is ast.Name and len(targets) == 1:
                    read = expressions.get(value.__class__)
                    if read is None:
                        raise self._unreadable(value)
                    result = read(value, target.id)
                    names[target.id] = result
                    if value.__class__ is ast.Name and value.id in arguments:
                        self.locals.setdefault(value.id, target.id)
                elif target.__class__ is ast.Subscript and len(targets) == 1:
                    follower = _alias_of(statements, position, target.value)
                    self._set_item(target, self._value(value), follower)
                    skip = follower is not None
                else:
                    result = self._value(value)
                    for target in targets:
                        self._store(target, result, statement)
            elif kind is ast.AugAssign:
                follower = _alias_of(statements, position, statement.target)  # type: ignore[attr-defined]
                self._augmented(statement, follower)  # type: ignore[arg-type]
                skip = follower is not None
            elif kind is ast.Return:
                result = statement.value  # type: ignore[attr-defined]
                return None if result is None else self._value(result)
            elif kind is ast.AnnAssign and statement.value is not None:  # type: ignore[attr-defined]
                target = statement.target  # type: ignore[attr-defined]
                named = target.id if isinstance(target, ast.Name) else None
                self._store(target, self._value(statement.value, named), statement)  # type: ignore[attr-defined]
            elif kind is ast.Expr:
                self._value(statement.value)  # type: ignore[attr-defined]
            elif kind is not ast.Pass and kind is not ast.Delete:
                raise self._unreadable(statement)
        raise GraphError("forward returns nothing")

    # -- statements ---------------------------------------------------------------------------

    def _store(self, target: ast.expr, value: Value, statement: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, part in enumerate(target.elts):
                if isinstance(part, ast.Starred):
                    raise self._unreadable(part)
                if isinstance(value, tuple):
                    if len(value) != len(target.elts):
                        raise GraphError("unpacks a tuple of another length", line=target.lineno)
                    item = value[position]
                else:
                    named = part.id if isinstance(part, ast.Name) else None
                    item = self._node("operator.getitem", (value, position), (), named, target)
                self._store(part, item, statement)
        else:
            raise self._unreadable(target)

    def _set_item(self, target: ast.Subscript, value: Value, follower: str | None) -> None:
        container, index = self._value(target.value), self._value(target.slice)
        self._node("operator.setitem", (container, index, value), (), follower or "setitem", target)
        if follower is not None:
            self.names[follower] = container

    def _augmented(self, statement: ast.AugAssign, follower: str | None) -> None:
        target = f"operator.i{_BINARY[type(statement.op)]}"
        place = statement.target
        left, right = self._value(place), self._value(statement.value)
        result = self._node(target, (left, right), (), follower or target[9:], statement)
        if isinstance(place, ast.Name):
            self.names[place.id] = result
        elif isinstance(place, ast.Subscript):
            self._set_item(place, result, None)
        else:
            raise self._unreadable(place)
        if follower is not None:
            self.names[follower] = result

    # -- expressions --------------------------------------------------------------------------

    def _value(self, tree: ast.expr, name: str | None = None) -> Value:
        read = self.expressions.get(tree.__class__)
        if read is None:
            raise self._unreadable(tree)
        self.depth += 1
        if self.depth > self.limits.depth:
            raise LimitExceeded("expression nested too deeply", line=tree.lineno)
        result = read(tree, name)
        self.depth -= 1
        return result

    def _constant(self, tree: ast.Constant, name: str | None) -> Value:
        value = tree.value
        if value.__class__ is float:
            return plain_float(value)  # type: ignore[arg-type]
        if value.__class__ is bytes:
            raise self._unreadable(tree)
        if value.__class__ is str and len(value) > self.limits.text:  # type: ignore[arg-type]
            raise LimitExceeded("string literal too long", line=tree.lineno)
        return value  # type: ignore[return-value]

    def _name(self, tree: ast.Name, name: str | None) -> Value:
        try:
            return self.names[tree.id]
        except KeyError:
            return self._named_constant(self.imports.get(tree.id, tree.id), tree)

    def _named_constant(self, path: str, tree: ast.expr) -> Value:
        owner, _, word = path.rpartition(".")
        if path == "Ellipsis":
            return ...
        if owner in ("torch", "math", ""):
            if word in _FLOATS:
                return _FLOATS[word]
            word = DTYPE_ALIASES.get(word, word)
            if owner == "torch" and word in DTYPES:
                return Dtype(word)
            if owner == "torch" and word in TORCH_CONSTANTS:
                return TorchConstant(word)
        raise GraphError(f"unknown name {path[:120]!r}", line=tree.lineno)

    def _attribute(self, tree: ast.Attribute, name: str | None) -> Value:
        path = self._path(tree)
        if path is not None:
            return self._named_constant(path, tree)
        if tree.attr not in ATTRIBUTES:
            raise GraphError(f"reads the attribute {tree.attr!r}", line=tree.lineno)
        owner = self._value(tree.value)
        return self._node("builtins.getattr", (owner, tree.attr), (), name, tree)

    def _tuple(self, tree: ast.Tuple, name: str | None) -> Value:
        return tuple([self._value(item) for item in tree.elts])

    def _list(self, tree: ast.List, name: str | None) -> Value:
        return ListValue(tuple([self._value(item) for item in tree.elts]))

    def _dict(self, tree: ast.Dict, name: str | None) -> Value:
        items = []
        for key, item in zip(tree.keys, tree.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise GraphError("a dictionary key is no string", line=tree.lineno)
            items.append((key.value, self._value(item)))
        return DictValue(tuple(items))

    def _slice(self, tree: ast.Slice, name: str | None) -> Value:
        parts = (tree.lower, tree.upper, tree.step)
        return Slice(*(None if part is None else self._value(part) for part in parts))

    def _subscript(self, tree: ast.Subscript, name: str | None) -> Value:
        container, index = self._value(tree.value), self._value(tree.slice)
        return self._node("operator.getitem", (container, index), (), name, tree)

    def _binary(self, tree: ast.BinOp, name: str | None) -> Value:
        word = _BINARY[tree.op.__class__]
        target = f"operator.{word}_" if word in ("and", "or") else f"operator.{word}"
        return self._node(target, (self._value(tree.left), self._value(tree.right)), (), name, tree)

    def _unary(self, tree: ast.UnaryOp, name: str | None) -> Value:
        operand = self._value(tree.operand)
        if operand.__class__ in (int, float, complex):
            if tree.op.__class__ is ast.USub:
                return -operand  # type: ignore[operator]
            if tree.op.__class__ is ast.UAdd:
                return operand
        return self._node(f"operator.{_UNARY[tree.op.__class__]}", (operand,), (), name, tree)

    def _compare(self, tree: ast.Compare, name: str | None) -> Value:
        word = _COMPARE.get(tree.ops[0].__class__)
        if len(tree.ops) != 1 or word is None:
            raise self._unreadable(tree)
        operands = (self._value(tree.left), self._value(tree.comparators[0]))
        return self._node(f"operator.{word}", operands, (), name, tree)

    # -- calls --------------------------------------------------------------------------------

    def _call(self, tree: ast.Call, name: str | None) -> Value:
        function = tree.func
        path = self._path(function)
        owner: tuple[Value, ...] = ()
        if path is None:
            if function.__class__ is not ast.Attribute:
                raise self._unreadable(function)
            owner = (self._value(function.value),)  # type: ignore[attr-defined]
            target = f"method:{function.attr}"  # type: ignore[attr-defined]
        else:
            target = canonical_target(path)
        kwargs = tuple([(self._keyword(k), self._value(k.value)) for k in tree.keywords])
        args = owner + tuple([self._value(argument) for argument in tree.args])
        if not is_allowed(target):
            return self._special_call(target, args, kwargs, name, tree)
        if target in ("method:to", "method:type", "method:cpu") or (
            kwargs and any(key == "device" for key, _ in kwargs)
        ):
            target, args, kwargs = _without_devices(target, args, kwargs)
        elif target.endswith("_enter_autocast") and args and isinstance(args[0], str):
            args = (RunDevice(as_text=True), *args[1:])
        return self._node(target, args, kwargs, name, tree)

    def _special_call(
        self,
        target: str,
        args: tuple[Value, ...],
        kwargs: tuple[tuple[str, Value], ...],
        name: str | None,
        tree: ast.Call,
    ) -> Value:
        if target == "torch.device":
            return RunDevice()
        if target == "method:cuda":
            return self._node("method:to", (args[0], RunDevice()), (), name, tree)
        if target == "slice" and not kwargs and 1 <= len(args) <= 3:
            start, stop, step = (None, *args, None) if len(args) == 1 else (*args, None)[:3]
            return Slice(start, stop, step)
        if target in _BUILTIN_NAMES:
            return self._node(f"builtins.{target}", args, kwargs, name, tree)
        for prefix, module in _FX_GLOBALS.items():
            spelled = f"{module}.{target.removeprefix(prefix)}"
            if target.startswith(prefix) and is_allowed(spelled):
                return self._node(spelled, args, kwargs, name, tree)
        check_target(target, line=tree.lineno)
        raise AssertionError(target)

    def _keyword(self, keyword: ast.keyword) -> str:
        if keyword.arg is None:
            raise GraphError("passes **keywords", line=keyword.lineno)
        return keyword.arg

    def _path(self, tree: ast.expr) -> str | None:
        """The dotted path of a name that is no value of the graph, else None."""
        if tree.__class__ is ast.Name:
            word = tree.id  # type: ignore[attr-defined]
            return None if word in self.names else self.imports.get(word, word)
        if tree.__class__ is ast.Attribute:
            owner = self._path(tree.value)  # type: ignore[attr-defined]
            return None if owner is None else f"{owner}.{tree.attr}"  # type: ignore[attr-defined]
        return None

    def _node(
        self,
        target: str,
        args: tuple[Value, ...],
        kwargs: tuple[tuple[str, Value], ...],
        name: str | None,
        tree: ast.AST,
    ) -> Value:
        if name is None or name in self.taken:
            stem = name or target.rpartition(".")[2].rpartition(":")[2].strip("_") or "value"
            name = next(n for i in self.numbers if (n := f"{stem}_v{i}") not in self.taken)
        if len(self.nodes) >= self.limits.nodes:
            raise LimitExceeded(f"more than {self.limits.nodes} calls", line=tree.lineno)  # type: ignore[attr-defined]
        self.taken.add(name)
        self.nodes.append(Node(name, target, args, kwargs))
        return Ref(name)

    def _unreadable(self, tree: ast.AST) -> GraphError:
        line = getattr(tree, "lineno", None)
        kind = type(tree).__name__
        return GraphError(f"a graph cannot hold this {kind}: {ast.unparse(tree)[:80]}", line=line)


def _without_devices(
    target: str, args: tuple[Value, ...], kwargs: tuple[tuple[str, Value], ...]
) -> tuple[str, tuple[Value, ...], tuple[tuple[str, Value], ...]]:
    """The same call with device names replaced by the device of the run."""
    kwargs = tuple(
        (key, RunDevice() if key == "device" and isinstance(value, (str, int)) else value)
        for key, value in kwargs
    )
    if target == "method:cpu":
        return "method:to", (args[0], RunDevice()), ()
    if target == "method:to" and len(args) > 1 and isinstance(args[1], str):
        if is_device_text(args[1]):
            args = (args[0], RunDevice(), *args[2:])
    elif target == "method:type" and len(args) > 1 and isinstance(args[1], str):
        dtype = _TENSOR_TYPES.get(args[1].rpartition(".")[2])
        if dtype is not None:
            args = (args[0], Dtype(dtype), *args[2:])
    return target, args, kwargs


def _alias_of(statements: list[ast.stmt], position: int, place: ast.expr) -> str | None:
    """The name in ``name = place`` right after an in-place statement, as FX writes it."""
    if position + 1 >= len(statements) or not isinstance(place, ast.Name):
        return None
    following = statements[position + 1]
    if (
        isinstance(following, ast.Assign)
        and isinstance(following.value, ast.Name)
        and following.value.id == place.id
        and len(following.targets) == 1
        and isinstance(following.targets[0], ast.Name)
    ):
        return following.targets[0].id
    return None


def _dotted(tree: ast.expr) -> str:
    if isinstance(tree, ast.Attribute):
        return f"{_dotted(tree.value)}.{tree.attr}"
    if isinstance(tree, ast.Name):
        return tree.id
    return str(tree.value) if isinstance(tree, ast.Constant) else ""
