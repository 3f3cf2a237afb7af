"""Arguments of a node: plain Python constants, references, and a few named constants.

A value is one of ``None``, ``bool``, ``int``, ``float``, ``complex``, ``str``, ``...``, a
``tuple`` of values, or one of the frozen classes below. All are immutable and comparable, and
none can run code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

from graph_net.graph.errors import GraphError

INT_BITS = 64
"""The most bits of an integer, as in torch itself."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of the input or node with this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Dtype:
    """A torch dtype by name, such as ``float32``."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in DTYPES:
            raise GraphError(f"unknown dtype {str(self.name)[:40]!r}")


@dataclass(frozen=True, slots=True)
class TorchConstant:
    """A memory format or layout by name, such as ``channels_last`` or ``strided``."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in TORCH_CONSTANTS:
            raise GraphError(f"unknown torch constant {str(self.name)[:40]!r}")


@dataclass(frozen=True, slots=True)
class RunDevice:
    """The device the graph is run on, wherever the source named one.

    ``as_text`` marks places that take the device's type as a string (autocast).
    """

    as_text: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """``slice(start, stop, step)``."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list; not a tuple, because some calls treat the two differently."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DictValue:
    """A dictionary with string keys, in order."""

    items: tuple[tuple[str, Value], ...]


Scalar: TypeAlias = bool | int | float | complex
Value: TypeAlias = (
    Scalar
    | str
    | EllipsisType
    | tuple["Value", ...]
    | Ref
    | Dtype
    | TorchConstant
    | RunDevice
    | Slice
    | ListValue
    | DictValue
    | None
)

DTYPES = frozenset(
    """
float64 float32 float16 bfloat16 complex32 complex64 complex128 int64 int32 int16 int8 uint8
uint16 uint32 uint64 bool float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
float8_e8m0fnu quint8 qint8 qint32
""".split()
)
QUANTISED = frozenset({"quint8", "qint8", "qint32"})
"""Dtypes that a graph may mention but no call may use: their kernels trust what they hold."""
DTYPE_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}
TORCH_CONSTANTS = frozenset(
    """
strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged contiguous_format
channels_last channels_last_3d preserve_format
""".split()
)
LAYOUTS_REFUSED = frozenset("sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged".split())
"""Layouts whose kernels trust the index tensors inside them; no call may use one."""
ITEM_BYTES = {
    **dict.fromkeys(("complex128",), 16),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32", "complex32", "qint32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
}


def item_bytes(dtype: str) -> int:
    """Return the size of one element of a dtype in bytes."""
    return ITEM_BYTES.get(dtype, 1)


def plain_float(value: float) -> float:
    """Return the float, every NaN as one object so that equal graphs compare equal."""
    return math.nan if value != value else value


def items_of(value: Value) -> tuple[Value, ...]:
    """Return the direct items of a container, with a dictionary's keys; () for other values."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, ListValue):
        return value.items
    if isinstance(value, Slice):
        return value.start, value.stop, value.step
    if isinstance(value, DictValue):
        return tuple([part for pair in value.items for part in pair])
    return ()


def refs(value: Value) -> Iterator[Ref]:
    """Yield every reference inside a value, left to right."""
    if isinstance(value, Ref):
        yield value
    for item in items_of(value):
        yield from refs(item)


def map_refs(value: Value, change: Callable[[Ref], Value]) -> Value:
    """Return the value with every reference replaced by ``change`` of it."""
    if isinstance(value, Ref):
        return change(value)
    if isinstance(value, tuple):
        return tuple(map_refs(item, change) for item in value)
    if isinstance(value, ListValue):
        return ListValue(tuple(map_refs(item, change) for item in value.items))
    if isinstance(value, DictValue):
        return DictValue(tuple((key, map_refs(item, change)) for key, item in value.items))
    if isinstance(value, Slice):
        return Slice(*(map_refs(part, change) for part in items_of(value)))
    return value
