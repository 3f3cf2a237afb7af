"""Operation: what the named workloads of Ansor's records compute, as axes and accesses.

A workload key is a JSON list of a function's name and its arguments. The functions are those that
microsoft/nnfusion tuned. Another name, or the hash of a graph, has no Operation: only the steps
describe its programs then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from graph_net.programs.spaces.space import SpaceError

MOST_EXTENT = 1 << 40
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Access:
    """How a tensor is read: each index is a sum of axes times steps."""

    shape: tuple[int, ...]
    indices: tuple[tuple[tuple[int, int], ...], ...]
    """For each dimension, the (axis, step) terms of its index."""
    stage: int
    """The stage that is cached if this tensor is."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours in each dimension."""
        return tuple(prod(self.shape[place + 1 :]) for place in range(len(self.shape)))

    def axes(self) -> set[int]:
        """Return the axes that any index uses."""
        return {axis for index in self.indices for axis, _ in index}


@dataclass(frozen=True)
class Operation:
    """A sum of products over axes: spatial axes first, then summed axes."""

    kind: str
    space: tuple[int, ...]
    reduce: tuple[int, ...]
    reads: tuple[Access, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """Extents of all axes."""
        return self.space + self.reduce

    @property
    def flops(self) -> float:
        """Floating-point operations: a multiplication and an addition per point."""
        return 2.0 * prod(self.axes)

    @property
    def bytes(self) -> float:
        """Bytes that must be read or written at least once."""
        return float(
            FLOAT_BYTES * (prod(self.space) + sum(prod(read.shape) for read in self.reads))
        )


def operation_of(workload: str) -> Operation | None:
    """Return what a workload key computes; None if the function is unknown."""
    try:
        name, *arguments = json.loads(workload)
    except (ValueError, TypeError, RecursionError) as error:
        raise SpaceError(f"not a workload key of Ansor: {workload[:80]!r}") from error
    make = _MAKERS.get(name) if isinstance(name, str) else None
    if make is None:
        return None
    try:
        made = make(*arguments)
    except (TypeError, ValueError, AttributeError) as error:
        raise SpaceError(f"{name} does not take {str(arguments)[:80]}: {error}") from error
    return made


def _extents(*values: Any) -> None:
    for value in values:
        if type(value) is not int or not 0 < value <= MOST_EXTENT:
            raise ValueError(f"{str(value)[:20]} is not an extent")


def _padding(padding: Any, size: int) -> int:
    """Return the padding of one side of the image."""
    if padding in ("VALID", "SAME"):
        return 0 if padding == "VALID" else size - 1
    if type(padding) is not int or not 0 <= padding <= MOST_EXTENT:
        raise ValueError("padding is SAME, VALID or a number")
    return 2 * padding


def _slid(size: int, window: int, step: int, padding: Any) -> int:
    """Return how many positions a window has."""
    times = (size + _padding(padding, window) - window) // step + 1
    _extents(times)
    return times


def _one(axis: int) -> tuple[tuple[int, int], ...]:
    return ((axis, 1),)


def _convolution(
    n: int, c: int, h: int, w: int, f: int, kh: int, kw: int, step: int, padding: Any
) -> Operation:
    _extents(n, c, h, w, f, kh, kw, step)
    high, wide = (_slid(*each, step, padding) for each in ((h, kh), (w, kw)))
    image = (_one(0), _one(4), ((2, step), (5, 1)), ((3, step), (6, 1)))
    return Operation(
        "convolution",
        (n, f, high, wide),
        (c, kh, kw),
        (
            Access((n, c, h, w), image, 1),
            Access((f, c, kh, kw), (_one(1), _one(4), _one(5), _one(6)), 2),
        ),
    )


def _depthwise(
    n: int, c: int, h: int, w: int, kh: int, kw: int, step: int, padding: Any
) -> Operation:
    _extents(n, c, h, w, kh, kw, step)
    high, wide = (_slid(*each, step, padding) for each in ((h, kh), (w, kw)))
    image = (_one(0), _one(1), ((2, step), (4, 1)), ((3, step), (5, 1)))
    return Operation(
        "depthwise",
        (n, c, high, wide),
        (kh, kw),
        (
            Access((n, c, h, w), image, 1),
            Access((c, 1, kh, kw), (_one(1), (), _one(4), _one(5)), 2),
        ),
    )


def _matmul(rows: int, depth: int, columns: int) -> Operation:
    _extents(rows, depth, columns)
    return Operation(
        "matmul",
        (rows, columns),
        (depth,),
        (
            Access((rows, depth), (_one(0), _one(2)), 0),
            Access((depth, columns), (_one(2), _one(1)), 1),
        ),
    )


def _batched(batch: int, heads: int, rows: int, depth: int, columns: int) -> Operation:
    _extents(batch, heads, rows, depth, columns)
    many = batch * heads
    return Operation(
        "batched_matmul",
        (many, rows, columns),
        (depth,),
        (
            Access((many, rows, depth), (_one(0), _one(1), _one(3)), 0),
            Access((many, depth, columns), (_one(0), _one(3), _one(2)), 1),
        ),
    )


def _pooling(
    how: str, n: int, c: int, h: int, w: int, kh: int, kw: int, step: int, padding: Any
) -> Operation:
    made = _depthwise(n, c, h, w, kh, kw, step, padding)
    return Operation("pooling", made.space, made.reduce, made.reads[:1])


def _elementwise(*shape: int) -> Operation:
    _extents(*shape)
    read = Access(shape, tuple(_one(axis) for axis in range(len(shape))), 0)
    return Operation("elementwise", shape, (), (read,))


def _reduction(shape: Sequence[int], axis: int | Sequence[int], keep: bool) -> Operation:
    _extents(*shape)
    summed = [axis] if isinstance(axis, int) else list(axis)
    if not all(type(place) is int and 0 <= place < len(shape) for place in summed):
        raise ValueError("an axis outside of the shape")
    held = [place for place in range(len(shape)) if place not in summed]
    number = {place: at for at, place in enumerate([*held, *summed])}
    read = Access(tuple(shape), tuple(_one(number[place]) for place in range(len(shape))), 0)
    space, reduce = (tuple(shape[place] for place in places) for places in (held, summed))
    return Operation("reduction", space, reduce, (read,))


_MAKERS: dict[str, Callable[..., Operation]] = {
    "conv2d_layer": _convolution,
    "depthwise_conv2d_layer": _depthwise,
    "matmul_layer": _matmul,
    "batch_matmul_layer": _batched,
    "pool_layer": _pooling,
    "relu_layer": _elementwise,
    "reduction_layer": _reduction,
}
