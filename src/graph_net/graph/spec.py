"""Specs: the facts about a value that are known before it is computed (shape, dtype, stride)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Dim, Expr, dim_value
from graph_net.graph.values import DTYPES, item_bytes

SCALAR_KINDS = frozenset({"int", "float", "bool"})
MAX_RANK = 64
MAX_SIZE = 1 << 63


def _check_dims(dims: tuple[Dim, ...], field: str) -> None:
    if len(dims) > MAX_RANK:
        raise GraphError(f"{len(dims)} dimensions; torch has at most {MAX_RANK}", field=field)
    for dim in dims:
        if dim.__class__ is int:
            if not 0 <= dim < MAX_SIZE:
                raise GraphError("a size is negative or too large", field=field)
        elif not isinstance(dim, Expr):
            raise GraphError(f"a {type(dim).__name__} is not a size", field=field)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and dtype of a tensor; ``stride`` only if it is not contiguous."""

    shape: tuple[Dim, ...]
    dtype: str
    stride: tuple[Dim, ...] | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise GraphError(f"unknown dtype {self.dtype!r}", field="dtype")
        _check_dims(self.shape, "shape")
        if self.stride is not None:
            _check_dims(self.stride, "stride")
            if len(self.stride) != len(self.shape):
                raise GraphError("stride and shape differ in length", field="stride")

    def sizes(self, bindings: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape as numbers."""
        sizes = tuple(dim_value(dim, bindings) for dim in self.shape)
        if any(size < 0 for size in sizes):
            raise GraphError(f"shape {sizes} has a negative size", field="shape")
        return sizes

    def strides(self, bindings: Mapping[str, int]) -> tuple[int, ...] | None:
        """Return the stride as numbers, or None for a contiguous tensor."""
        if self.stride is None:
            return None
        return tuple(dim_value(dim, bindings) for dim in self.stride)

    def elements(self, bindings: Mapping[str, int]) -> int:
        """Return the number of elements."""
        return prod(self.sizes(bindings))

    def bytes(self, bindings: Mapping[str, int]) -> int:
        """Return the size in bytes."""
        return self.elements(bindings) * item_bytes(self.dtype)


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A Python number that is computed or passed in, such as a SymInt; ``expr`` if known."""

    kind: str = "int"
    expr: Expr | None = None

    def __post_init__(self) -> None:
        if self.kind not in SCALAR_KINDS:
            raise GraphError(f"unknown scalar kind {self.kind!r}", field="spec")


Spec: TypeAlias = TensorSpec | ScalarSpec
Result: TypeAlias = TensorSpec | ScalarSpec | tuple["Result", ...] | None
