"""``input_tensor_constraints.py`` of a GraphNet sample, read by walking its syntax tree."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from graph_net.formats.graphnet.parsing import excerpt, is_short, parse, readable
from graph_net.graph.errors import GraphError
from graph_net.graph.expr import MAX_EXPR_TEXT, Dim, Expr
from graph_net.graph.graph import Symbol
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits

_PREFIX = "dynamic_dim_constraint_"


@dataclass(frozen=True, slots=True)
class Constraints:
    """Symbols with example values, relations between them, and input shapes that use them."""

    symbols: tuple[Symbol, ...] = ()
    relations: tuple[Expr, ...] = ()
    shapes: dict[str, tuple[Dim, ...]] = field(default_factory=dict)


def read_constraints(source: str, limits: GraphLimits = DEFAULT_LIMITS) -> Constraints:
    """Return what a constraints file declares; an empty file declares nothing."""
    if not source or source.isspace():
        return Constraints()
    with readable("input_tensor_constraints.py"):
        return _read(source, limits)


def _read(source: str, limits: GraphLimits) -> Constraints:
    lists: dict[str, ast.expr] = {}
    symbols: dict[str, str] = {}
    for statement in parse(source, "input_tensor_constraints.py", limits).body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(text))]),
            ):
                symbols[name] = text
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.startswith(_PREFIX):
                lists[name.removeprefix(_PREFIX)] = value
            case _:
                why = f"cannot read {excerpt(statement)!r} as a constraint"
                raise GraphError(why, line=statement.lineno)
    lines = re.split(r"\r\n|\r|\n", source)
    examples = _examples(lists.get("symbol2example_value"))
    ranges = _ranges(lists.get("symbol_ranges"))
    declared = [
        item.id for item in _items(lists.get("symbols")) if isinstance(item, ast.Name)
    ] or list(symbols)
    return Constraints(
        tuple(
            Symbol(symbols.get(name, name), examples.get(name, 1), *ranges.get(name, (None, None)))
            for name in declared
        ),
        tuple(
            _expr(item, lines)
            for item in _items(lists.get("relations"))
            if not isinstance(item, ast.Constant)
        ),
        dict(_shape(item, lines) for item in _items(lists.get("input_shapes"))),
    )


def _items(tree: ast.expr | None) -> list[ast.expr]:
    return list(tree.elts) if isinstance(tree, (ast.List, ast.Tuple)) else []


def _examples(tree: ast.expr | None) -> dict[str, int]:
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(tree, ast.Dict):
        pairs = list(zip(tree.keys, tree.values, strict=True))
    else:
        tuples = [item.elts for item in _items(tree) if isinstance(item, ast.Tuple)]
        pairs = [(pair[0], pair[1]) for pair in tuples if len(pair) == 2]
    examples: dict[str, int] = {}
    for pair in pairs:
        match pair:
            case ast.Name(id=name), ast.Constant(value=number) if type(number) is int:
                examples[name] = number
            case _:
                raise GraphError("an example value is not an integer", field="constraints")
    return examples


def _ranges(tree: ast.expr | None) -> dict[str, tuple[int | None, int | None]]:
    """Return the bounds of symbols, which our own writer records beside GraphNet's fields."""
    ranges: dict[str, tuple[int | None, int | None]] = {}
    if not isinstance(tree, ast.Dict):
        return ranges
    for key, value in zip(tree.keys, tree.values, strict=True):
        match key, value:
            case ast.Name(id=name), ast.Tuple(elts=[low, high]):
                ranges[name] = (_bound(low), _bound(high))
            case _:
                raise GraphError("a range is not a pair of bounds", field="constraints")
    return ranges


def _bound(tree: ast.expr) -> int | None:
    match tree:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=int(number)) if number is not True and number is not False:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    raise GraphError("a bound is not an integer", field="constraints")


def _shape(tree: ast.expr, lines: list[str]) -> tuple[str, tuple[Dim, ...]]:
    match tree:
        case ast.Tuple(
            elts=[ast.List(elts=dims) | ast.Tuple(elts=dims), ast.Constant(value=str(name))]
        ):
            return name, tuple([_dim(dim, lines) for dim in dims])
        case _:
            raise GraphError(f"not an input shape: {excerpt(tree)!r}", line=tree.lineno)


def _dim(tree: ast.expr, lines: list[str]) -> Dim:
    if tree.__class__ is ast.Constant and type(tree.value) is int:
        return tree.value
    return _expr(tree, lines)


def _expr(tree: ast.expr, lines: list[str]) -> Expr:
    """Return an expression as the source spells it, so that it is written back the same."""
    if tree.__class__ is ast.Name:
        return Expr(tree.id)
    line = lines[tree.lineno - 1]
    try:
        if tree.end_lineno == tree.lineno:  # columns are counted in bytes
            begin, end = tree.col_offset, tree.end_col_offset
            return Expr(line[begin:end] if line.isascii() else line.encode()[begin:end].decode())
        if not is_short(tree, 4 * MAX_EXPR_TEXT):
            raise GraphError(f"an expression of more than {MAX_EXPR_TEXT} characters")
        return Expr(ast.unparse(tree))
    except GraphError as error:
        raise GraphError(error.reason, field="constraints", line=tree.lineno) from error
