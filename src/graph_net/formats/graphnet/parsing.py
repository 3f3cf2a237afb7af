"""Parsing of a sample's source into syntax trees of bounded size; nothing is executed.

A tree takes about half a kilobyte per token of source, so tokens are counted before parsing:
4 MB of ``1,1,1`` would fill 2 GB.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise

from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits

PIECE = 1 << 20
"""Characters of metadata classes that are parsed as one tree."""
QUOTED = 200
"""The most nodes of a tree that an error quotes."""
_TOKEN = re.compile(r"\w+|[^\w\s]|\n")
_CLASS = re.compile(r"^class\b", re.MULTILINE)


@contextmanager
def readable(file: str) -> Iterator[None]:
    """Raise GraphError for the errors that Python raises on absurdly deep or long source."""
    try:
        yield
    except GraphError:
        raise
    except (RecursionError, ValueError, OverflowError) as error:
        raise LimitExceeded(f"{file} is nested too deeply or holds too long a number") from error


def parse(source: str, file: str, limits: GraphLimits = DEFAULT_LIMITS) -> ast.Module:
    """Return the syntax tree of a file; raise LimitExceeded before making one too large."""
    if 2 * len(source) > limits.tokens and _cost(source, limits.tokens) > limits.tokens:
        raise LimitExceeded(f"{file} has more than {limits.tokens} tokens in one piece")
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise GraphError(f"{file} is not valid Python: {error.msg}", line=error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise GraphError(f"{file} cannot be parsed: {error}") from error


def _cost(source: str, most: int) -> int:
    """Count the tokens of a source, up to ``most``; the end of a statement counts twice."""
    ends = source.count("\n") + source.count(";")
    return ends + sum(1 for _ in islice(_TOKEN.finditer(source), most + 1))


def class_pieces(source: str) -> Iterator[tuple[int, str]]:
    """Yield a source of classes in pieces of several classes, each with the lines before it."""
    begin = lines = 0
    starts = [match.start() for match in _CLASS.finditer(source)] if len(source) > PIECE else []
    for start, following in pairwise([*starts, len(source)]):
        if start > begin and following - begin > PIECE:
            yield lines, source[begin:start]
            lines += source.count("\n", begin, start)
            begin = start
    yield lines, source[begin:]


def is_short(tree: ast.AST, nodes: int) -> bool:
    """Return whether a tree has at most this many nodes."""
    return sum(1 for _ in islice(ast.walk(tree), nodes + 1)) <= nodes


def excerpt(tree: ast.AST) -> str:
    """Return the beginning of a tree's source, for an error."""
    return ast.unparse(tree)[:80] if is_short(tree, QUOTED) else f"a long {type(tree).__name__}"
