"""Find sequences that recur in a text of integers, with a suffix array.

Only prefixes of a bounded length count, so suffixes are sorted by windows that double in length
(1, 2, 4 … ``longest``), each time by radix: the cost is linear in the text, and a text of millions
of tokens takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int32]
_DIGIT = 16
"""Bits per radix pass: numpy's stable sort is a radix sort for integers of this size."""


@dataclass(frozen=True)
class SuffixArray:
    """Positions in the order of their suffixes, and the common prefixes of neighbours.

    ``lcp[i]`` counts the tokens that ``order[i - 1]`` and ``order[i]`` have in common, at most
    ``longest``.
    """

    order: Ints
    lcp: Ints
    longest: int


@dataclass(frozen=True)
class Repeat:
    """A sequence that occurs more than once: its length and positions, in no order."""

    length: int
    positions: Ints


def suffixes(text: Ints, longest: int) -> SuffixArray:
    """Return the suffix array of a text, sorted by the first ``longest`` tokens.

    Tokens count from 0; the last one must occur nowhere else.
    """
    if longest < 2:
        raise ValueError(f"longest={longest} is too short; compare at least 2 tokens")
    levels, width = {1: np.append(text + np.int32(1), np.int32(0))}, 1
    order = np.zeros(0, np.int32)
    while width < longest:
        step = min(width, longest - width)
        order = _sort_by_pair(levels[width], step)
        levels[width + step] = _dense_ranks(order, levels[width], step)
        width += step
    return SuffixArray(order, _common_prefixes(order, levels, longest), longest)


def _shift_ranks(rank: Ints, step: int) -> Ints:
    """Return the rank ``step`` positions further, 0 beyond the end."""
    moved = np.zeros(len(rank) - 1, np.int32)
    moved[: max(len(moved) - step, 0)] = rank[step:-1]
    return moved


def _sort_by_pair(rank: Ints, step: int) -> Ints:
    """Return positions sorted by the rank here, then by the rank ``step`` further."""
    order = np.arange(len(rank) - 1, dtype=np.int32)
    for key in (_shift_ranks(rank, step), rank[:-1]):
        for shift in range(0, max(int(key.max(initial=0)).bit_length(), 1), _DIGIT):
            digit = (key[order] >> shift).astype(np.uint16)
            order = order[np.argsort(digit, kind="stable")]
    return order


def _dense_ranks(order: Ints, rank: Ints, step: int) -> Ints:
    """Return ranks from 1 on in this order, equal for equal pairs; 0 after the last."""
    first, second = rank[:-1][order], _shift_ranks(rank, step)[order]
    differs = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    ranks = np.zeros(len(rank), np.int32)
    ranks[order] = np.cumsum(np.concatenate(([True], differs)), dtype=np.int32)[: len(order)]
    return ranks


def _common_prefixes(order: Ints, levels: dict[int, Ints], longest: int) -> Ints:
    """Count the tokens that neighbours in the order have in common, by halves."""
    size = len(order)
    lcp = np.zeros(size, np.int32)
    here, before = order[1:], order[:-1]
    whole = levels[longest][here] == levels[longest][before]
    shared = np.zeros(max(size - 1, 0), np.int32)
    for width in sorted((w for w in levels if w & (w - 1) == 0 and w < longest), reverse=True):
        left = np.minimum(here + shared, size)
        right = np.minimum(before + shared, size)
        shared += np.where(levels[width][left] == levels[width][right], width, 0).astype(np.int32)
    lcp[1:] = np.where(whole, longest, shared)
    return lcp


def repeats(
    text: Ints, suffix_array: SuffixArray, length: int, owner: Ints, *, maximal: bool = True
) -> Iterator[Repeat]:
    """Yield every sequence of this length that occurs for at least two owners, most frequent first.

    Maximal ones can be extended to neither side without losing an occurrence.
    """
    order = suffix_array.order
    bounds = np.append(np.flatnonzero(suffix_array.lcp < length), len(order))
    low, high = bounds[:-1], bounds[1:]
    many = high - low > 1
    low, high = low[many], high[many]
    before = np.where(order > 0, text[order - 1], -1)
    tests = [_changes(owner[order])]
    if maximal:
        tests += [_changes(before), suffix_array.lcp == length]
    for test in tests:
        total = np.concatenate(([0], np.cumsum(test, dtype=np.int64)))
        passed = total[high] > total[low + 1]  # among low + 1 … high - 1
        low, high = low[passed], high[passed]
    for i in np.argsort(low - high, kind="stable"):
        yield Repeat(length, order[low[i] : high[i]])


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value differs from the one before it."""
    return np.concatenate(([False], values[1:] != values[:-1]))
