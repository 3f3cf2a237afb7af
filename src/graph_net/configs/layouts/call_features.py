"""A call under a layout as a row of numbers known before it runs.

What it reads, writes and computes, the orders of its tensors, and what decides which kernel it
gets: the matrices of a product, the channels of a convolution, the runs that a copy moves at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.layouts.call_work import (
    CallKind,
    OrderCode,
    bytes_of,
    flops_of,
    given,
    is_free,
    kind_of,
    long_order,
    matrices_of,
    moved_by,
    operands_of,
    order_code,
    sizes_of,
    strides_in,
    tensors,
)
from graph_net.configs.layouts.calls import LayoutCall
from graph_net.configs.layouts.copies import CopyKind
from graph_net.graph.operators import base_name
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import ListValue, item_bytes

Floats = NDArray[np.float64]
READ = 3
"""Tensors whose order is a feature."""
ALIGNED = 4
"""Channels count as aligned to at most two to this power."""
_PRODUCT = ("rows", "columns", "depth", "batch", "depth_aligned", "columns_aligned", "intensity")
_CONVOLUTION = ("window", "stride", "in_aligned", "spatial", "is_transposed")
COLUMNS = (
    "kind", "read", "written", "flops", "item_bytes", "is_half",
    *(f"order_{n}" for n in range(READ)), "order_result", "orders", "minor_read", "minor_written",
    "is_along", "eager_copied", "kernel_copied", "mixed", "tensors", "is_explicit",
    "first_turned", "second_turned", *_PRODUCT, *_CONVOLUTION,
)  # fmt: skip
"""The names of the numbers; bytes, operations and sizes are logarithms."""
MATRICES = (CallKind.CONVOLUTION, CallKind.PRODUCT, CallKind.ATTENTION)
WORK = ("moved", "operations")
"""Numbers after those: the bytes and operations themselves."""


def call_rows(calls: Iterable[LayoutCall]) -> Floats:
    """Return a row for each call that costs time: ``COLUMNS``, then ``WORK``."""
    rows = [
        (*call_row(call), moved_by(call), flops_of(call)) for call in calls if not is_free(call)
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(COLUMNS) + len(WORK))


def call_row(call: LayoutCall) -> list[float]:
    """Return the numbers of a call, in the order of ``COLUMNS``."""
    result, read, kind = next(tensors(call.node.result)), given(call), kind_of(call)
    copied = {k: sum(c.bytes for c in call.copies if c.kind is k) for k in CopyKind}
    largest = max(read, key=bytes_of, default=result)
    alike = {long_order(spec) for spec in read if spec.shape == result.shape}
    codes = [order_code(spec) for spec in read[:READ]] + [OrderCode.FLAT] * READ
    row: list[Any] = [
        kind, _log(sum(map(bytes_of, read))), _log(bytes_of(result)), _log(flops_of(call)),
        item_bytes(result.dtype), result.dtype in ("float16", "bfloat16"), *codes[:READ],
        order_code(result), len(alike), _log(_run(largest, result)), _log(_run(result, largest)),
        _is_along(largest), _log(copied[CopyKind.EAGER]), _log(copied[CopyKind.KERNEL]),
        _log(copied[CopyKind.MIXED]),
        len(read), copied[CopyKind.EXPLICIT] > 0,
        *(_turns(call) if kind is CallKind.PRODUCT else (0, 0)),
        *(_of_product(call) if kind in MATRICES else [0] * len(_PRODUCT)),
        *(_of_convolution(call) if kind is CallKind.CONVOLUTION else [0] * len(_CONVOLUTION)),
    ]  # fmt: skip
    return [float(number) for number in row]


def _run(spec: TensorSpec, other: TensorSpec) -> int:
    """Return how many neighbours of a tensor are neighbours in another too.

    If their shapes differ, return the length of the tensor's most minor dimension.
    """
    sizes, order = sizes_of(spec), long_order(spec)
    if spec.shape != other.shape:
        return sizes[order[0]] if order else 1
    length = 1
    for one, two in zip(order, long_order(other), strict=True):
        if one != two:
            break
        length *= sizes[one]
    return length


def _is_along(spec: TensorSpec) -> bool:
    """Return whether the last dimension, which softmax and norms go along, is the most minor."""
    order = long_order(spec)
    return bool(order) and order[0] == len(spec.shape) - 1


def _of_product(call: LayoutCall) -> Sequence[float]:
    matrices = matrices_of(call)
    _, columns, depth, _ = matrices
    intensity = _log(flops_of(call)) - _log(moved_by(call))
    return [*map(_log, matrices), _aligned(depth), _aligned(columns), intensity]


def _turns(call: LayoutCall) -> tuple[int, int]:
    """Return how the two matrices of a product are laid out, as it multiplies them."""
    first, second = (_turned(spec) for spec in operands_of(call))
    if base_name(call.node.target) == "linear":  # it multiplies by the transpose
        second = {0: 1, 1: 0}.get(second, second)
    return first, second


def _turned(spec: TensorSpec) -> int:
    """Return 0 if the rows of a matrix are dense, 1 if its columns are, 2 if neither is."""
    sizes, strides = sizes_of(spec), strides_in(spec)
    if len(sizes) < 2 or strides[-1] == 1 or sizes[-1] == 1:
        return 0
    return 1 if strides[-2] == 1 or sizes[-2] == 1 else 2


def _of_convolution(call: LayoutCall) -> Sequence[float]:
    image, weight = (sizes_of(spec) for spec in given(call)[:2])
    stride = max(_integers(call.node.args[3:4]), default=1)
    channels = image[1] if len(image) == len(weight) else image[0]
    is_transposed = "transpose" in call.node.target
    window = _log(math.prod(weight[2:]))
    return [window, stride, _aligned(channels), len(weight) - 2, is_transposed]


def _integers(values: Iterable[object]) -> Iterator[int]:
    for value in values:
        if isinstance(value, ListValue):
            yield from _integers(value.items)
        elif isinstance(value, tuple):
            yield from _integers(value)
        elif isinstance(value, int):
            yield value


def _aligned(count: int) -> int:
    """Return how often two divides a count, at most ``ALIGNED``."""
    return min(ALIGNED, max(0, (count & -count).bit_length() - 1))


def _log(number: float) -> float:
    return math.log2(1 + number)
