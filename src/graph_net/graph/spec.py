"""What is known of a value before it exists: shape, dtype, stride."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Dim, Expr, dim_value
from graph_net.graph.values import DTYPES, item_bytes

SCALAR_KINDS = frozenset({"int", "float", "bool"})


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and dtype of a tensor; ``stride`` only where it is not the contiguous one."""

    shape: tuple[Dim, ...]
    dtype: str
    stride: tuple[Dim, ...] | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise GraphError(f"unknown dtype {self.dtype!r}", field="dtype")
        for dim in self.shape:
            if dim.__class__ is not int and not isinstance(dim, Expr):
                raise GraphError(f"{dim!r} is no dimension", field="shape")
            if dim.__class__ is int and dim < 0:
                raise GraphError(f"negative dimension {dim}", field="shape")
        if self.stride is not None and len(self.stride) != len(self.shape):
            raise GraphError("stride and shape differ in length", field="stride")

    def sizes(self, bindings: Mapping[str, int]) -> tuple[int, ...]:
        """The shape as numbers."""
        sizes = tuple(dim_value(dim, bindings) for dim in self.shape)
        if any(size < 0 for size in sizes):
            raise GraphError(f"shape {sizes} has a negative size", field="shape")
        return sizes

    def strides(self, bindings: Mapping[str, int]) -> tuple[int, ...] | None:
        """The stride as numbers, or None for a contiguous tensor."""
        if self.stride is None:
            return None
        return tuple(dim_value(dim, bindings) for dim in self.stride)

    def elements(self, bindings: Mapping[str, int]) -> int:
        """How many elements it has."""
        return prod(self.sizes(bindings))

    def bytes(self, bindings: Mapping[str, int]) -> int:
        """How many bytes its elements take."""
        return self.elements(bindings) * item_bytes(self.dtype)


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A Python number that is computed or passed in, such as a SymInt; ``expr`` where known."""

    kind: str = "int"
    expr: Expr | None = None

    def __post_init__(self) -> None:
        if self.kind not in SCALAR_KINDS:
            raise GraphError(f"unknown scalar kind {self.kind!r}", field="spec")


Spec: TypeAlias = TensorSpec | ScalarSpec
Result: TypeAlias = TensorSpec | ScalarSpec | tuple["Result", ...] | None
