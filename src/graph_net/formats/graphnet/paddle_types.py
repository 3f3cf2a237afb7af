"""The types in a Paddle sample's comments: ``# pd_op.add: (2x3xf32) <- (2x3xf32, 3xf32)``.

They give the type of each result. A size that Paddle left open is written -1; a result with one
is read as unknown.
"""

from __future__ import annotations

import re

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Expr
from graph_net.graph.spec import Result, TensorSpec

_SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "ui8", "bool": "b",
    "complex64": "c64", "complex128": "c128", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
}  # fmt: skip
_LONG = {short: name for name, short in _SHORT.items()} | {"u8": "uint8"}
_COMMENT = re.compile(r"\s*# (?P<op>\w+\.\w+): \((?P<results>[^()]*)\) <- ")
_TENSOR = re.compile(r"(x|(?:\d+x)*)([a-z]\w*)", re.ASCII)
_MAX_COMMENT = 20_000
"""Length of the longest comment that is parsed."""


def type_text(spec: Result) -> str:
    """Return a value's type as a comment spells it; a question mark if it is unknown."""
    if isinstance(spec, tuple):
        return f"[{', '.join(type_text(item) for item in spec)}]"
    if not isinstance(spec, TensorSpec) or spec.dtype not in _SHORT:
        return "?"
    if any(isinstance(dim, Expr) for dim in spec.shape):
        return "?"
    sizes = "".join(f"{dim}x" for dim in spec.shape)
    return f"{sizes or 'x'}{_SHORT[spec.dtype]}"


def type_comment(op: str, results: tuple[Result, ...], operands: tuple[Result, ...]) -> str | None:
    """Return the comment above a statement; None if nothing is known of its results."""
    outputs = ", ".join(type_text(result) for result in results)
    inputs = ", ".join(type_text(operand) for operand in operands)
    return f"# {op}: ({outputs}) <- ({inputs})" if outputs.strip("?, []") else None


def results_in(comment: str) -> tuple[Result, ...] | None:
    """Return a comment's type for each result of the statement below; None for other comments."""
    match = _COMMENT.match(comment) if len(comment) <= _MAX_COMMENT else None
    return tuple(_type(part) for part in _parts(match["results"])) if match else None


def _type(text: str) -> Result:
    if text.startswith("[") and text.endswith("]"):
        return tuple(_type(part) for part in _parts(text[1:-1]))
    match = _TENSOR.fullmatch(text)
    if match is None or match[2] not in _LONG:
        return None
    try:
        return TensorSpec(tuple(int(n) for n in match[1].split("x") if n), _LONG[match[2]])
    except (GraphError, ValueError):
        return None


def _parts(text: str) -> list[str]:
    """Return the comma-separated parts outside brackets; lists are not nested further."""
    return [part for part in re.findall(r"\[[^\[\]]*\]|[^,\[\]\s]+", text) if part]
