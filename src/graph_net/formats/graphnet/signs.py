"""The signs and syntax trees of the functions of Python's ``operator`` module."""

from __future__ import annotations

import ast

_BINARY: tuple[tuple[str, str, type[ast.AST]], ...] = (
    ("add", "+", ast.Add),
    ("sub", "-", ast.Sub),
    ("mul", "*", ast.Mult),
    ("truediv", "/", ast.Div),
    ("floordiv", "//", ast.FloorDiv),
    ("mod", "%", ast.Mod),
    ("pow", "**", ast.Pow),
    ("matmul", "@", ast.MatMult),
    ("and_", "&", ast.BitAnd),
    ("or_", "|", ast.BitOr),
    ("xor", "^", ast.BitXor),
    ("lshift", "<<", ast.LShift),
    ("rshift", ">>", ast.RShift),
)
_COMPARISONS: tuple[tuple[str, str, type[ast.AST]], ...] = (
    ("eq", "==", ast.Eq),
    ("ne", "!=", ast.NotEq),
    ("lt", "<", ast.Lt),
    ("le", "<=", ast.LtE),
    ("gt", ">", ast.Gt),
    ("ge", ">=", ast.GtE),
)
_UNARY: tuple[tuple[str, str, type[ast.AST]], ...] = (
    ("neg", "-", ast.USub),
    ("pos", "+", ast.UAdd),
    ("invert", "~", ast.Invert),
    ("not_", "not ", ast.Not),
)
INFIX = {word: sign for word, sign, _ in (*_BINARY, *_COMPARISONS)}
PREFIX = {word: sign for word, sign, _ in _UNARY}
AUGMENTED = {f"i{word.rstrip('_')}": sign for word, sign, _ in _BINARY}
"""``iand``: ``&``, which an assignment writes as ``&=``."""
BINARY_TREES = {tree: word for word, _, tree in _BINARY}
AUGMENTED_TREES = {tree: f"i{word.rstrip('_')}" for word, _, tree in _BINARY}
UNARY_TREES = {tree: word for word, _, tree in _UNARY}
COMPARISON_TREES = {
    **{tree: word for word, _, tree in _COMPARISONS},
    ast.Is: "is_",
    ast.IsNot: "is_not",
}
