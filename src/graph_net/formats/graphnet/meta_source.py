"""``weight_meta.py`` and ``input_meta.py`` of a GraphNet sample, read by walking syntax trees."""

from __future__ import annotations

import ast
import math
from typing import Any

from graph_net.formats.graphnet.model_source import parse
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.limits import Limits
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe
from graph_net.graph.values import DTYPE_ALIASES, DTYPES, plain_float

_FLOATS = {"inf": math.inf, "nan": math.nan, "None": None, "True": True, "False": False}
_INTEGERS = frozenset("int64 int32 int16 int8 uint8 uint16 uint32 uint64".split())
DEFAULT_INTEGERS = Integers(0, 1)
"""For whole numbers of which nothing is recorded: valid as an index into anything not tiny."""

Meta = dict[str, Any]


def read_meta(source: str, file: str, limits: Limits) -> dict[str, Meta]:
    """The attributes of every metadata class, by the name of the tensor it describes."""
    found: dict[str, Meta] = {}
    if not source or source.isspace():
        return found
    for statement in parse(source, file).body:
        if statement.__class__ is not ast.ClassDef:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            raise GraphError(f"{file} holds something other than classes", line=statement.lineno)
        attributes: Meta = {}
        for line in statement.body:  # type: ignore[attr-defined]
            if line.__class__ is ast.Assign:
                value = line.value
                attributes[line.targets[0].id] = (
                    value.value if value.__class__ is ast.Constant else _literal(value, limits)
                )
            elif not isinstance(line, ast.Pass):
                raise GraphError(f"{file}: a metadata class holds more than attributes",
                                 line=line.lineno)
        name = attributes.get("name")
        if not isinstance(name, str):
            raise GraphError(f"{file}: a metadata class has no name", line=statement.lineno)
        found[name] = attributes
    if len(found) > limits.inputs:
        raise LimitExceeded(f"{len(found)} tensors; {limits.inputs} are allowed")
    return found


def shape_of(meta: Meta) -> tuple[int, ...]:
    """The shape a metadata class records."""
    shape = meta.get("shape", [])
    if not isinstance(shape, (list, tuple)) or not all(type(n) is int and n >= 0 for n in shape):
        raise GraphError(f"the shape {shape!r} is no list of sizes", node=meta["name"], field="shape")
    return tuple(shape)


def dtype_of(meta: Meta) -> str:
    """The dtype a metadata class records, without the ``torch.`` in front."""
    word = str(meta.get("dtype", "torch.float32")).removeprefix("torch.")
    word = DTYPE_ALIASES.get(word, word)
    if word not in DTYPES:
        raise GraphError(f"unknown dtype {word[:40]!r}", node=meta["name"], field="dtype")
    return word


def recipe_of(meta: Meta, dtype: str, shape: tuple[int, ...], limits: Limits) -> Recipe:
    """How to make the tensor that a metadata class describes."""
    low, high, data = meta.get("min_val"), meta.get("max_val"), meta.get("data")
    try:
        if data is not None:
            if not isinstance(data, (list, tuple)):
                data = (data,)
            if len(data) > limits.literal:
                raise LimitExceeded(f"{len(data)} literal values", node=meta["name"], field="data")
            if len(data) != math.prod(shape):
                raise GraphError(
                    f"{len(data)} values for shape {list(shape)}", node=meta["name"], field="data"
                )
            return Literal(tuple(data))
        if dtype in _INTEGERS:
            if low is None or high is None:
                return DEFAULT_INTEGERS
            return Integers(int(low), int(high))
        if dtype == "bool":
            return Bernoulli()
        return Normal(_number(meta, "mean"), _number(meta, "std"), _number(meta, "min_val"),
                      _number(meta, "max_val"))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(str(error), node=meta["name"], field="recipe") from error


def scalar_of(meta: Meta) -> Constant:
    """The recorded example value of a SymInt argument."""
    data = meta.get("data")
    value = data[0] if isinstance(data, (list, tuple)) and data else data
    if not isinstance(value, (int, float, bool)):
        raise GraphError("a SymInt argument has no example value", node=meta["name"], field="data")
    return Constant(value)


def _number(meta: Meta, key: str) -> float | None:
    value = meta.get(key)
    return None if value is None else plain_float(float(value))


def _literal(tree: ast.expr, limits: Limits) -> Any:
    kind = tree.__class__
    if kind is ast.Constant:
        return tree.value  # type: ignore[attr-defined]
    if kind is ast.List or kind is ast.Tuple:
        items = tree.elts  # type: ignore[attr-defined]
        if len(items) > limits.literal:
            raise LimitExceeded(f"a list of {len(items)} values", line=tree.lineno)
        return [
            item.value if item.__class__ is ast.Constant else _literal(item, limits)
            for item in items
        ]
    if kind is ast.UnaryOp and isinstance(tree.op, (ast.USub, ast.UAdd)):  # type: ignore[attr-defined]
        value = _literal(tree.operand, limits)  # type: ignore[attr-defined]
        if isinstance(value, (int, float, complex)):
            return -value if isinstance(tree.op, ast.USub) else value  # type: ignore[attr-defined]
    if kind is ast.Name and tree.id in _FLOATS:  # type: ignore[attr-defined]
        return _FLOATS[tree.id]  # type: ignore[attr-defined]
    if kind is ast.BinOp and isinstance(tree.op, (ast.Add, ast.Sub)):  # type: ignore[attr-defined]
        left, right = _literal(tree.left, limits), _literal(tree.right, limits)  # type: ignore[attr-defined]
        if isinstance(right, complex) and isinstance(left, (int, float)):
            return left + right if isinstance(tree.op, ast.Add) else left - right  # type: ignore[attr-defined]
    if kind is ast.Call and isinstance(tree.func, ast.Name) and tree.func.id == "float":  # type: ignore[attr-defined]
        argument = tree.args[0] if tree.args else None  # type: ignore[attr-defined]
        if isinstance(argument, ast.Constant) and argument.value in ("inf", "-inf", "nan"):
            return float(argument.value)
    raise GraphError(f"no literal: {ast.unparse(tree)[:80]}", line=tree.lineno)
