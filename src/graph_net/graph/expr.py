"""Integer expressions over symbols: sizes such as ``S0*S1 + 2`` and relations between them."""

from __future__ import annotations

import ast
import operator
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graph_net.graph.errors import GraphError

MAX_EXPR_TEXT = 2_000
MAX_EXPR_DEPTH = 60
MAX_POWER = 64
MAX_BITS = 64


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression or relation, as text in Python's own grammar; never executed, only walked.

    One line without comments, so that it means the same inside a file. Brackets and blanks around
    the whole are dropped: no reader would restore them.
    """

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _strip(self.text))

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbols it uses."""
        return _symbols_of(self.text)

    def value(self, bindings: Mapping[str, int]) -> int:
        """Return the integer value (0 or 1 for a relation) under these values of the symbols."""
        try:
            number = int(_evaluate(_parse(self.text), bindings))
        except GraphError:
            raise
        except (ArithmeticError, ValueError, TypeError) as error:
            # Division by zero; infinity, NaN and complex numbers, which are not integers.
            raise self._no_value(bindings, str(error)) from error
        if number.bit_length() > MAX_BITS:
            raise self._no_value(bindings, f"more than {MAX_BITS} bits")
        return number

    def _no_value(self, bindings: Mapping[str, int], why: str) -> GraphError:
        values = ", ".join(f"{name}={bindings.get(name)}" for name in sorted(self.symbols))
        where = f" for {values[:200]}" if values else ""
        return GraphError(f"{self.text[:80]!r} has no value{where}: {why}")


Dim = int | Expr


def dim_value(dim: Dim, bindings: Mapping[str, int]) -> int:
    """Return the number that a dimension stands for."""
    return dim if isinstance(dim, int) else dim.value(bindings)


def _power(a: float, b: float) -> float:
    if abs(b) > MAX_POWER or abs(a) > 1 << 62:
        raise OverflowError("power too large")
    return float(a**b) if isinstance(a, float) else a ** int(b)


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, tuple[int | None, Callable[..., float]]] = {
    "Eq": (2, lambda a, b: float(a == b)),
    "Ne": (2, lambda a, b: float(a != b)),
    "Le": (2, lambda a, b: float(a <= b)),
    "Lt": (2, lambda a, b: float(a < b)),
    "Ge": (2, lambda a, b: float(a >= b)),
    "Gt": (2, lambda a, b: float(a > b)),
    "Mod": (2, operator.mod),
    "PythonMod": (2, operator.mod),
    "FloorDiv": (2, operator.floordiv),
    "CleanDiv": (2, operator.floordiv),
    "CeilDiv": (2, lambda a, b: -(-a // b)),
    "Max": (None, lambda *numbers: max(numbers)),
    "Min": (None, lambda *numbers: min(numbers)),
    "floor": (1, lambda a: a // 1),
    "ceiling": (1, lambda a: -(-a // 1)),
    "Abs": (1, abs),
    "ToFloat": (1, float),
    "TruncToInt": (1, int),
    "CeilToInt": (1, lambda a: -(-a // 1)),
    "FloorToInt": (1, lambda a: a // 1),
    "IntTrueDiv": (2, operator.truediv),
    "PowByNatural": (2, _power),
    "Integer": (1, lambda a: a),
}

FUNCTIONS = frozenset(_CALLS)
"""Names of functions, which no symbol may have."""


@lru_cache(maxsize=4096)
def _strip(text: str) -> str:
    """Return the text of an expression without surrounding blanks and brackets."""
    tree = _parse(text)
    return text.encode()[tree.col_offset : tree.end_col_offset].decode()


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_EXPR_TEXT:
        raise GraphError(f"expression of {len(text)} characters; {MAX_EXPR_TEXT} are allowed")
    if not text.isprintable() or "#" in text or "\\" in text:
        raise GraphError(f"not an expression on one line without comments: {text[:80]!a}")
    if not unicodedata.is_normalized("NFKC", text):
        raise GraphError(f"names that Python would normalise to others: {text[:80]!a}")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GraphError(f"not an expression: {text[:80]!r}") from error
    _check(tree, text, MAX_EXPR_DEPTH)
    return tree


def _check(tree: ast.expr, text: str, depth: int) -> None:
    if depth == 0:
        raise GraphError(f"expression nested too deeply: {text[:80]!r}")
    match tree:
        case ast.Constant(value=int() | float()) | ast.Name():
            pass
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            _check(operand, text, depth - 1)
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _OPERATORS:
            _check(left, text, depth - 1)
            _check(right, text, depth - 1)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            count = _CALLS[name][0]
            if not args or (count is not None and len(args) != count):
                raise GraphError(f"{name} takes {count or 'one or more'} arguments: {text[:80]!r}")
            for argument in args:
                _check(argument, text, depth - 1)
        case _:
            kind = type(tree).__name__
            raise GraphError(f"a size expression cannot hold a {kind}: {text[:80]!r}")


def _evaluate(tree: ast.expr, bindings: Mapping[str, int]) -> float:
    match tree:
        case ast.Constant(value=value):
            return value  # type: ignore[return-value]
        case ast.Name(id=name):
            if name not in bindings:
                raise GraphError(
                    f"unknown symbol {name!r}; known: {', '.join(bindings)[:200] or 'none'}"
                )
            return bindings[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = _evaluate(operand, bindings)
            if isinstance(op, ast.Not):
                return not value
            return -value if isinstance(op, ast.USub) else value
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ):
            values = _evaluate(left, bindings), _evaluate(right, bindings)
            return _OPERATORS[type(op)](*values)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _CALLS[name][1](*(_evaluate(argument, bindings) for argument in args))
    raise AssertionError(f"unchecked expression {ast.dump(tree)}")


@lru_cache(maxsize=4096)
def _symbols_of(text: str) -> frozenset[str]:
    calls = {node.func for node in ast.walk(_parse(text)) if isinstance(node, ast.Call)}
    return frozenset(
        node.id
        for node in ast.walk(_parse(text))
        if isinstance(node, ast.Name) and node not in calls
    )
