"""Dimension orders, minor-to-major as in TpuGraphs, and their strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Order: TypeAlias = tuple[int, ...]
"""Dimensions of a tensor from the innermost (contiguous) to the outermost."""
MOST_DIMENSIONS = 6
"""TpuGraphs has six slots for the dimensions of a tensor."""


def contiguous_order(rank: int) -> Order:
    """Return the order of a contiguous tensor: the last dimension is the most minor."""
    return tuple(reversed(range(rank)))


def channels_last_order(rank: int) -> Order:
    """Return the order whose most minor dimension is the second, the channels."""
    return (1, *reversed(range(2, rank)), 0)


def transposed_order(rank: int) -> Order:
    """Return the order of column-major matrices."""
    return (rank - 2, rank - 1, *reversed(range(rank - 2)))


def strides_of(order: Order, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense tensor in this order."""
    strides, step = [0] * len(sizes), 1
    for dimension in order:
        strides[dimension] = step
        step *= max(sizes[dimension], 1)
    return tuple(strides)


def has_order(order: Order, sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether a tensor is dense in this order; dimensions of size 1 do not matter."""
    if 0 in sizes:
        return True
    wanted = strides_of(order, sizes)
    return all(
        size == 1 or stride == step
        for size, stride, step in zip(sizes, strides, wanted, strict=True)
    )


def same_layout(sizes: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two strides place all elements alike."""
    return 0 in sizes or all(
        size == 1 or a == b for size, a, b in zip(sizes, first, second, strict=True)
    )


def order_of(sizes: Sequence[int], strides: Sequence[int]) -> Order:
    """Return the dimensions sorted by stride; ties as in a contiguous tensor."""
    return tuple(sorted(range(len(sizes)), key=lambda d: (strides[d], sizes[d], -d)))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse permutation."""
    found = [0] * len(order)
    for place, dimension in enumerate(order):
        found[dimension] = place
    return tuple(found)
