"""``weight_meta.py`` and ``input_meta.py`` of a GraphNet sample, read by walking syntax trees."""

from __future__ import annotations

import ast
import math
from typing import Any

from graph_net.formats.graphnet.parsing import class_pieces, excerpt, parse, readable
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.json_codec import recipe_from_json
from graph_net.graph.limits import GraphLimits
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe
from graph_net.graph.spec import MAX_RANK, MAX_SIZE
from graph_net.graph.values import DTYPE_ALIASES, DTYPES, plain_float

_FLOATS = {"inf": math.inf, "nan": math.nan, "None": None, "True": True, "False": False}
_INTEGERS = frozenset(["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"])
DEFAULT_INTEGERS = Integers(0, 1)
"""For integers without statistics: valid as an index into any dimension larger than 1."""

Meta = dict[str, Any]
MAX_FLOAT_TEXT = 64
"""Length of the longest text that is read as a number."""


def read_meta(source: str, file: str, limits: GraphLimits) -> dict[str, Meta]:
    """Return the attributes of every metadata class, by the name of its tensor."""
    metas: dict[str, Meta] = {}
    if not source or source.isspace():
        return metas
    for lines, piece in class_pieces(source):
        try:
            with readable(file):
                metas |= _classes(piece, file, limits)
        except GraphError as error:
            if not lines or error.line is None:
                raise
            line = error.line + lines
            raise type(error)(
                error.reason, node=error.node, field=error.field, line=line
            ) from error
        if len(metas) > limits.inputs:
            raise LimitExceeded(f"{file} has more than {limits.inputs} tensors")
    return metas


def _classes(source: str, file: str, limits: GraphLimits) -> dict[str, Meta]:
    metas: dict[str, Meta] = {}
    for statement in parse(source, file, limits).body:
        if statement.__class__ is not ast.ClassDef:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            raise GraphError(f"{file} holds something other than classes", line=statement.lineno)
        attributes: Meta = {}
        for line in statement.body:
            if line.__class__ is ast.Assign:
                value, target = line.value, line.targets[0]
                if not isinstance(target, ast.Name):
                    raise GraphError(f"{file}: not an attribute", line=line.lineno)
                attributes[target.id] = (
                    value.value if value.__class__ is ast.Constant else _literal(value, limits)
                )
            elif not isinstance(line, ast.Pass):
                raise GraphError(
                    f"{file}: a metadata class holds more than attributes", line=line.lineno
                )
        name = attributes.get("name")
        if not isinstance(name, str):
            raise GraphError(f"{file}: a metadata class has no name", line=statement.lineno)
        metas[name] = attributes
    return metas


def shape_of(meta: Meta) -> tuple[int, ...]:
    """Return the shape that a metadata class records."""
    shape = meta.get("shape", [])
    if not isinstance(shape, (list, tuple)) or not all(type(n) is int and n >= 0 for n in shape):
        raise GraphError("the shape is not a list of sizes", node=meta["name"], field="shape")
    if len(shape) > MAX_RANK or any(n >= MAX_SIZE for n in shape):
        raise LimitExceeded("the shape is too long or too large", node=meta["name"], field="shape")
    return tuple(shape)


def dtype_of(meta: Meta) -> str:
    """Return the dtype that a metadata class records, without the prefix ``torch.``."""
    name = meta.get("dtype", "torch.float32")
    if not isinstance(name, str):
        raise GraphError("the dtype is not a text", node=meta["name"], field="dtype")
    name = name.removeprefix("torch.")
    name = DTYPE_ALIASES.get(name, name)
    if name not in DTYPES:
        raise GraphError(f"unknown dtype {name[:40]!r}", node=meta["name"], field="dtype")
    return name


def recipe_of(meta: Meta, dtype: str, shape: tuple[int, ...], limits: GraphLimits) -> Recipe:
    """Return the recipe of the tensor that a metadata class describes."""
    low, high, data = meta.get("min_val"), meta.get("max_val"), meta.get("data")
    try:
        if "recipe" in meta:
            return recipe_from_json(str(meta["recipe"]), limits)
        if data is not None:
            if not isinstance(data, (list, tuple)):
                data = (data,)
            if len(data) > limits.literal:
                raise LimitExceeded(f"{len(data)} literal values", node=meta["name"], field="data")
            if len(data) != math.prod(shape):
                raise GraphError(
                    f"{len(data)} values for shape {list(shape)}", node=meta["name"], field="data"
                )
            return Literal(_values_of(dtype, data))
        if dtype in _INTEGERS:
            if low is None or high is None:
                return DEFAULT_INTEGERS
            return Integers(int(low), int(high))
        if dtype == "bool":
            return Bernoulli()
        return Normal(*(_number(meta, key) for key in ("mean", "std", "min_val", "max_val")))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(str(error), node=meta["name"], field="recipe") from error


def _values_of(dtype: str, data: list[Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    """Return literal values in the dtype's own type, so that equal tensors have equal recipes."""
    if dtype == "bool":
        return tuple([bool(value) for value in data])
    if dtype in _INTEGERS:
        return tuple([int(value) for value in data])
    if dtype.startswith("complex"):
        return tuple([complex(value) for value in data])
    return tuple([plain_float(float(value)) for value in data])


def stride_of(meta: Meta) -> tuple[Dim, ...]:
    """Return the stride, which our own writer records where it is not contiguous."""
    stride = meta["stride"]
    if not isinstance(stride, list) or not all(type(n) in (int, str) for n in stride):
        raise GraphError("the stride is not a list of sizes", node=meta["name"], field="stride")
    try:
        return tuple(Expr(step) if isinstance(step, str) else step for step in stride)
    except GraphError as error:
        raise GraphError(error.reason, node=meta["name"], field="stride") from error


def scalar_of(meta: Meta) -> Constant:
    """Return the recorded example value of a SymInt argument."""
    data = meta.get("data")
    value = data[0] if isinstance(data, (list, tuple)) and len(data) == 1 else data
    if not isinstance(value, (int, float, bool)):
        raise GraphError("a SymInt argument has no example value", node=meta["name"], field="data")
    return Constant(value)


def _number(meta: Meta, key: str) -> float | None:
    value = meta.get(key)
    return None if value is None else plain_float(float(value))


def float_of(text: str, line: int) -> float:
    """Return the number in ``float("1e-05")``, as Paddle samples spell every float."""
    try:
        if len(text) <= MAX_FLOAT_TEXT:
            return plain_float(float(text))
    except ValueError:
        pass
    raise GraphError(f"not a number: {text[:40]!r}", line=line)


def _literal(tree: ast.expr, limits: GraphLimits) -> Any:
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            if len(items) > limits.literal:
                raise LimitExceeded(f"a list of {len(items)} values", line=tree.lineno)
            return [
                item.value if isinstance(item, ast.Constant) else _literal(item, limits)
                for item in items
            ]
        case ast.UnaryOp(
            op=ast.USub(), operand=ast.Constant(value=int() | float() | complex() as value)
        ):
            return -value
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=ast.Name(id=word)) if word in _FLOATS:
            number = _FLOATS[word]
            if isinstance(number, float):
                return -number if isinstance(tree.op, ast.USub) else number
        case ast.Name(id=word) if word in _FLOATS:
            return _FLOATS[word]
        case ast.BinOp(
            op=ast.Add() | ast.Sub(), left=left, right=ast.Constant(value=complex() as b)
        ):
            a = _literal(left, limits)
            if isinstance(a, (int, float)):
                return a + b if isinstance(tree.op, ast.Add) else a - b
        case ast.Call(func=ast.Name(id="complex"), args=[real, imaginary]):
            parts = _literal(real, limits), _literal(imaginary, limits)
            if all(isinstance(part, (int, float)) for part in parts):
                return complex(*parts)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
            return float_of(word, tree.lineno)
    raise GraphError(f"not a literal: {excerpt(tree)}", line=tree.lineno)
