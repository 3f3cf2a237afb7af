"""Find runs of equal layers in a graph: their starts, length and number."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from graph_net.graph.repeats import Copy, find_repeats
from graph_net.rewrite.carve import Carver


@dataclass(frozen=True, slots=True)
class Loop:
    """``period`` nodes that repeat: a copy begins at each of ``starts``."""

    period: int
    starts: tuple[int, ...]

    def inputs(self, carver: Carver, start: int) -> list[str]:
        """Return the inputs of the copy that starts there, in the order it first reads them."""
        return carver.inputs(range(start, start + self.period))


def find_loops(carver: Carver) -> Iterator[Loop]:
    """Yield loops that do not overlap, in order; each has two or more copies of equal wiring."""
    items = carver.items
    cost = _count_crossing(carver)
    free = 0
    for start, stop, period in _tandems(items):
        start = max(start, free)
        best = _starts(cost, start, stop, period)
        for group in _split_by_wiring(carver, best, period):
            if len(group) > 1:
                yield Loop(period, tuple(group))
                free = group[-1] + period


def _tandems(items: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Yield stretches of items that repeat with a period: start, stop, period."""
    position = 0
    for item in find_repeats(items):
        if not isinstance(item, Copy):
            position += 1
            continue
        start, stop = position - item.distance, position + item.length
        if item.length >= item.distance:
            earliest = max(start - item.distance, 0)  # anything further back is another loop
            while start > earliest and items[start - 1] == items[start - 1 + item.distance]:
                start -= 1
            yield start, stop, item.distance
        position = stop


def _starts(cost: Sequence[int], start: int, stop: int, period: int) -> list[int]:
    """Return where copies begin so that most fit and fewest values cross."""
    options = []
    for offset in range(min(period, stop - start)):
        starts = list(range(start + offset, stop - period + 1, period))
        if starts:
            average = sum(cost[position] for position in starts) / len(starts)
            options.append((-len(starts), average, offset, starts))
    return min(options)[3] if options else []


def _split_by_wiring(carver: Carver, starts: Sequence[int], period: int) -> Iterator[list[int]]:
    """Yield the copies in groups of equal inner wiring."""
    group: list[int] = []
    wiring: tuple[int, ...] | None = None
    for start in starts:
        current = carver.wiring(range(start, start + period))
        if current != wiring and group:
            yield group
            group = []
        wiring = current
        group.append(start)
    if group:
        yield group


def _count_crossing(carver: Carver) -> list[int]:
    """Count for each position the computed values that cross it."""
    change = [0] * (len(carver.graph.nodes) + 2)
    for position, node in enumerate(carver.graph.nodes):
        readers = carver.readers.get(node.name)
        if readers and readers[-1] > position:
            change[position + 1] += 1
            change[readers[-1] + 1] -= 1
    return list(accumulate(change))
