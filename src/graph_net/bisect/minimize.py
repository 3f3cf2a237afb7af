"""Delta debugging: a smallest set of which the test still holds, with few tests.

The set is the calls of a graph in their order. First ranges: the shortest beginning, then the
shortest end of it, each by halving. Then ddmin (Zeller and Hildebrandt, 2002) on what is left.

A candidate has one of three outcomes: the test holds, it does not, or there is no test because the
candidate makes no graph of its own. The third says nothing about smaller candidates, so halving
never decides by it: it moves to the nearest place where a cut can be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias

Members: TypeAlias = tuple[int, ...]
First: TypeAlias = Callable[[Sequence[Members]], int | None]
"""Given candidates, the position of the first one of which the test holds."""
Cut: TypeAlias = Callable[[Members], bool]
"""Whether a candidate can be tested at all."""
LOOKED_AT = 64
"""Places around a middle that are asked for a cut before a range is left as it is."""


def minimize(members: Members, first: First, can_cut: Cut = lambda members: True) -> Members:
    """Return a subset of which the test holds, and holds no more without any one member.

    It must hold of all members. A member stays, too, if the rest without it cannot be cut;
    ``first`` passes over such candidates.
    """
    return ddmin(narrow_range(members, first, can_cut), first)


def narrow_range(members: Members, first: First, can_cut: Cut = lambda members: True) -> Members:
    """Return the shortest consecutive range that halving finds: its end first, then its start."""
    low, high = 0, len(members)
    while (middle := _place(low, high, lambda k: can_cut(members[:k]))) is not None:
        if first([members[:middle]]) is not None:
            high = middle
        else:
            low = middle
    members = members[:high]
    low, high = 0, len(members)
    while (middle := _place(low, high, lambda k: can_cut(members[k:]))) is not None:
        if first([members[middle:]]) is not None:
            low = middle
        else:
            high = middle
    return members[low:]


def _place(low: int, high: int, can_cut: Callable[[int], bool]) -> int | None:
    """Return the place strictly between two that is nearest to their middle and can be cut."""
    return next((k for k in islice(_outwards(low, high), LOOKED_AT) if can_cut(k)), None)


def _outwards(low: int, high: int) -> Iterator[int]:
    """Yield the places strictly between two, from the middle outwards."""
    middle = (low + high) // 2
    for distance in range(high - low):
        for place in dict.fromkeys((middle - distance, middle + distance)):
            if low < place < high:
                yield place


def ddmin(members: Members, first: First) -> Members:
    """Return a 1-minimal subset: no member can be left out of it."""
    parts = 2
    while len(members) >= 2:
        chunks = list(_chunks(members, parts))
        rests = [tuple(chain(*chunks[:i], *chunks[i + 1 :])) for i in range(len(chunks))]
        candidates = [*chunks, *rests] if parts > 2 else chunks  # of two, each is the other's rest
        found = first(candidates)
        if found is not None:
            members = candidates[found]
            parts = 2 if found < len(chunks) else max(parts - 1, 2)
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
