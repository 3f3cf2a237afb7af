"""Delta debugging: a smallest set of which the test still holds, with few tests.

The set is the calls of a graph in their order. First ranges: the shortest beginning, then the
shortest end of it, each by halving. Then ddmin (Zeller and Hildebrandt, 2002) on what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

Members: TypeAlias = tuple[int, ...]
First: TypeAlias = Callable[[Sequence[Members]], int | None]
"""Given candidates, the position of the first one of which the test holds."""


def minimize(members: Members, first: First) -> Members:
    """A subset of which the test holds, and of which it holds no more without any one member.

    It must hold of all members. Candidates of which it cannot be made count as those of which it
    does not hold.
    """
    return ddmin(narrowed(members, first), first)


def narrowed(members: Members, first: First) -> Members:
    """The shortest consecutive range that halving finds: its end first, then its beginning."""
    low, high = 0, len(members)
    while high - low > 1:
        middle = (low + high) // 2
        if first([members[:middle]]) is not None:
            high = middle
        else:
            low = middle
    members = members[:high]
    low, high = 0, len(members)
    while high - low > 1:
        middle = (low + high) // 2
        if first([members[middle:]]) is not None:
            low = middle
        else:
            high = middle
    return members[low:]


def ddmin(members: Members, first: First) -> Members:
    """A 1-minimal subset: no member can be left out of it."""
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
