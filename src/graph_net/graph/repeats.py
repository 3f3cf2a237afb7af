"""Repeated runs in a sequence, so that a block is stored once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Copy:
    """``length`` items again, from ``distance`` back; longer than ``distance`` means a loop."""

    distance: int
    length: int


def find_repeats(items: Sequence[Hashable]) -> list[Hashable | Copy]:
    """Return the items with every run that occurred before replaced by a Copy, in linear time.

    A block of p items that occurs n times in a row becomes its first occurrence and one
    ``Copy(p, (n - 1) * p)``.
    """
    output: list[Hashable | Copy] = []
    latest: dict[Hashable, int] = {}
    position, total = 0, len(items)
    while position < total:
        key = tuple(items[position : position + SHORTEST])
        source = latest.get(key)
        latest[key] = position
        if source is None or len(key) < SHORTEST:
            output.append(items[position])
            position += 1
            continue
        length = SHORTEST
        while position + length < total and items[source + length] == items[position + length]:
            length += 1
        output.append(Copy(position - source, length))
        for inside in range(position + 1, position + length):
            latest[tuple(items[inside : inside + SHORTEST])] = inside
        position += length
    return output
