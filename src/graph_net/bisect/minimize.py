"""Delta debugging: a smallest set that still passes a test, with few tests.

The set is the calls of a graph in order. First ranges: the shortest prefix, then its shortest
suffix, each by halving. Then ddmin (Zeller and Hildebrandt, 2002) on the rest.

A candidate has one of three outcomes: the test passes, it fails, or it cannot be tested because the
candidate does not form a graph. The third says nothing about smaller candidates, so halving never
decides by it: it moves to the nearest position where a cut is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias

Members: TypeAlias = tuple[int, ...]
First: TypeAlias = Callable[[Sequence[Members]], int | None]
"""Returns the index of the first candidate that passes the test."""
Cut: TypeAlias = Callable[[Members], bool]
"""Whether a candidate can be tested at all."""
LOOKED_AT = 64
"""Positions around a middle that are tried for a cut before halving gives up."""


def minimize(members: Members, first: First, can_cut: Cut = lambda members: True) -> Members:
    """Return a subset that passes the test, and fails it without any one member.

    The whole set must pass. A member also stays if the rest without it cannot be cut; ``first``
    skips such candidates.
    """
    return ddmin(narrow_range(members, first, can_cut), first)


def narrow_range(members: Members, first: First, can_cut: Cut = lambda members: True) -> Members:
    """Return the shortest consecutive range that halving finds: its end first, then its start."""
    low, high = 0, len(members)
    while (middle := _find_cut(low, high, lambda k: can_cut(members[:k]))) is not None:
        if first([members[:middle]]) is not None:
            high = middle
        else:
            low = middle
    members = members[:high]
    low, high = 0, len(members)
    while (middle := _find_cut(low, high, lambda k: can_cut(members[k:]))) is not None:
        if first([members[middle:]]) is not None:
            low = middle
        else:
            high = middle
    return members[low:]


def _find_cut(low: int, high: int, can_cut: Callable[[int], bool]) -> int | None:
    """Return the position strictly between two, nearest to their middle, that can be cut."""
    return next((k for k in islice(_outwards(low, high), LOOKED_AT) if can_cut(k)), None)


def _outwards(low: int, high: int) -> Iterator[int]:
    """Yield the positions strictly between two, from the middle outwards."""
    middle = (low + high) // 2
    for distance in range(high - low):
        for position in dict.fromkeys((middle - distance, middle + distance)):
            if low < position < high:
                yield position


def ddmin(members: Members, first: First) -> Members:
    """Return a 1-minimal subset: no member can be left out of it."""
    parts = 2
    while len(members) >= 2:
        chunks = list(_chunks(members, parts))
        rests = [tuple(chain(*chunks[:i], *chunks[i + 1 :])) for i in range(len(chunks))]
        candidates = [*chunks, *rests] if parts > 2 else chunks  # of two, each is the other's rest
        index = first(candidates)
        if index is not None:
            members = candidates[index]
            parts = 2 if index < len(chunks) else max(parts - 1, 2)
        elif parts == len(members):
            return members
        else:
            parts = min(2 * parts, len(members))
    return members


def _chunks(members: Members, parts: int) -> Iterator[Members]:
    start = 0
    for part in range(parts):
        stop = len(members) * (part + 1) // parts
        yield members[start:stop]
        start = stop
