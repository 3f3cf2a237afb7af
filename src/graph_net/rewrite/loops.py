"""Runs of equal layers in a graph: where they begin, how long one is, how often it occurs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from graph_net.graph.repeats import Copy, find_repeats
from graph_net.rewrite.carve import Carver


@dataclass(frozen=True, slots=True)
class Loop:
    """``period`` nodes that occur again and again, from each of ``starts`` on."""

    period: int
    starts: tuple[int, ...]

    def inputs(self, carver: Carver, start: int) -> list[str]:
        """What the copy that starts there takes, in the order it first reads it."""
        return carver.inputs(range(start, start + self.period))


def find_loops(carver: Carver) -> Iterator[Loop]:
    """Loops that do not overlap, in order; each has at least two copies with equal wiring."""
    items = carver.items
    cost = _crossing(carver)
    free = 0
    for start, stop, period in _tandems(items):
        start = max(start, free)
        best = _starts(cost, start, stop, period)
        for group in _alike(carver, best, period):
            if len(group) > 1:
                yield Loop(period, tuple(group))
                free = group[-1] + period


def _tandems(items: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Stretches of items in which everything comes again after so many: start, stop, period."""
    position = 0
    for item in find_repeats(items):
        if not isinstance(item, Copy):
            position += 1
            continue
        start, stop = position - item.distance, position + item.length
        if item.length >= item.distance:
            earliest = max(start - item.distance, 0)  # a longer way back is a loop of its own
            while start > earliest and items[start - 1] == items[start - 1 + item.distance]:
                start -= 1
            yield start, stop, item.distance
        position = stop


def _starts(cost: Sequence[int], start: int, stop: int, period: int) -> list[int]:
    """Where copies begin so that as many as possible fit and as little as possible crosses."""
    options = []
    for offset in range(min(period, stop - start)):
        places = list(range(start + offset, stop - period + 1, period))
        if places:
            crossing = sum(cost[place] for place in places) / len(places)
            options.append((-len(places), crossing, offset, places))
    return min(options)[3] if options else []


def _alike(carver: Carver, starts: Sequence[int], period: int) -> Iterator[list[int]]:
    """The copies, apart where their inner wiring differs."""
    group: list[int] = []
    wiring: tuple[int, ...] | None = None
    for start in starts:
        found = carver.wiring(range(start, start + period))
        if found != wiring and group:
            yield group
            group = []
        wiring = found
        group.append(start)
    if group:
        yield group


def _crossing(carver: Carver) -> list[int]:
    """For each position how many computed values cross from before it to behind it."""
    change = [0] * (len(carver.graph.nodes) + 2)
    for place, node in enumerate(carver.graph.nodes):
        readers = carver.readers.get(node.name)
        if readers and readers[-1] > place:
            change[place + 1] += 1
            change[readers[-1] + 1] -= 1
    return list(accumulate(change))
