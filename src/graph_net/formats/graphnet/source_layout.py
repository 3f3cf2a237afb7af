"""Expressions of a source file, broken over lines as Black breaks them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import iskeyword

WIDTH = 88
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Brackets:
    """An expression in brackets: its opening text, its parts, its closing bracket."""

    opening: str
    parts: tuple[str | Brackets, ...]
    closing: str
    one_comma: bool = False
    subscript: bool = False

    @property
    def inside(self) -> str:
        """The parts on one line."""
        comma = "," if self.one_comma and len(self.parts) == 1 else ""
        return ", ".join(map(flatten, self.parts)) + comma


Piece = str | Brackets


def flatten(piece: Piece) -> str:
    """Return a piece on one line."""
    return piece if isinstance(piece, str) else f"{piece.opening}{piece.inside}{piece.closing}"


def layout(head: str, piece: Piece, indent: int) -> list[str]:
    """Return the lines of ``head`` and an expression, broken as Black breaks them."""
    margin = INDENT * indent
    line, inner = flatten(piece), margin + INDENT
    if len(margin) + len(head) + len(line) <= WIDTH:
        return [f"{margin}{head}{line}"]
    if isinstance(piece, str) or not piece.parts:
        room = WIDTH - len(margin)
        fits = len(head) < room and (len(line) + 4 <= room or not isinstance(piece, str))
        if head.endswith(" = ") and fits:
            return [f"{margin}{head}(", inner + line, f"{margin})"]
        return [f"{margin}{head}{line}"]
    needs_comma = piece.one_comma and len(piece.parts) == 1
    if len(inner) + len(piece.inside) <= WIDTH and not needs_comma:
        return [f"{margin}{head}{piece.opening}", inner + piece.inside, margin + piece.closing]
    lines = [f"{margin}{head}{piece.opening}"]
    for part in piece.parts:
        broken = layout("", part, indent + 1)
        broken[-1] += "" if piece.subscript else ","
        lines.extend(broken)
    lines.append(margin + piece.closing)
    return lines


def freeing_lines(names: list[str], margin: str) -> list[str]:
    """Return the lines of ``a = b = c = None``, broken as Black breaks them."""
    lines: list[str] = []
    line = margin
    for position, name in enumerate(names):
        rest = " = ".join([*names[position:], "None"])
        if len(line) + len(rest) <= WIDTH:
            return [*lines, line + rest]
        if position == 0 or len(line) + len(name) + 4 <= WIDTH:
            line += f"{name} = "
        else:
            lines += [f"{line}(", f"{margin}{INDENT}{name}"]
            line = f"{margin}) = "
    if len(line) + 4 <= WIDTH:
        return [*lines, f"{line}None"]
    return [*lines, f"{line}(", f"{margin}{INDENT}None", f"{margin})"]


def literal(value: bool | int | float | complex | str | object | None) -> str:
    """Return a constant as Python source that reads back as the same constant."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "torch.nan" if value != value else ("inf" if value > 0 else "-inf")
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return repr(value)


def quote(text: str) -> str:
    """Return a string literal in double quotes."""
    escaped = repr(text)
    if escaped[0] == "'":
        return '"' + escaped[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return escaped


def format_brackets(parts: Sequence[Piece], brackets: str = "[]") -> Piece:
    """Return parts between brackets, ready for ``layout``."""
    return Brackets(brackets[0], tuple(parts), brackets[1])


def format_call(function: str, parts: Sequence[Piece]) -> Piece:
    """Return a call, ready for ``layout``."""
    return Brackets(f"{function}(", tuple(parts), ")")


def format_dict(items: Sequence[tuple[str, Piece]]) -> Piece:
    """Return a dictionary, ready for ``layout``."""
    return Brackets("{", tuple(_pair(key, piece) for key, piece in items), "}")


def keyword(key: str, piece: Piece) -> Piece:
    """Return ``key=…`` of a call, or ``**{"key": …}`` if the key is a Python keyword."""
    if iskeyword(key) or key == "__debug__":
        return Brackets("**{", (_pair(key, piece),), "}")
    if isinstance(piece, str):
        return f"{key}={piece}"
    return Brackets(f"{key}={piece.opening}", piece.parts, piece.closing, piece.one_comma)


def _pair(key: str, piece: Piece) -> Piece:
    if isinstance(piece, str):
        return f"{quote(key)}: {piece}"
    return Brackets(f"{quote(key)}: {piece.opening}", piece.parts, piece.closing, piece.one_comma)
