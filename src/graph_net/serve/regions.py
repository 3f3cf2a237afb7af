"""A graph as nested regions, each drawn as one box until it is opened.

Repeated blocks are regions, as in the report. If too many boxes remain, neighbours are grouped into
parts, cut where the fewest values cross, so that a picture has a bounded number of boxes for any
graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, groupby

from graph_net.graph import Graph
from graph_net.report.page_drawing import DrawnRun, blocks_of

MOST = 100
"""Approximate maximum of boxes in one region."""
PART = 50
"""Approximate number of items in one part."""
LEAST = 6
"""Least items in one part."""


class RegionKind(Enum):
    """Why nodes are grouped into one box."""

    NODE = "node"
    LOOP = "loop"
    COPY = "copy"
    RUN = "run"
    PART = "part"


@dataclass(frozen=True, slots=True)
class Region:
    """The nodes from ``start`` up to ``stop`` (exclusive); a loop is ``times`` equal runs."""

    start: int
    stop: int
    kind: RegionKind = RegionKind.NODE
    times: int = 1

    @property
    def id(self) -> str:
        """The region's name in addresses."""
        return f"{self.start}-{self.stop}"

    @property
    def period(self) -> int:
        """Number of nodes in one run."""
        return (self.stop - self.start) // self.times

    def run(self, number: int) -> Region:
        """Return one run of a loop."""
        start = self.start + number * self.period
        return Region(start, start + self.period, RegionKind.RUN)

    def rest(self, opened: int) -> Region:
        """Return the runs after the first ``opened`` ones."""
        start = self.start + opened * self.period
        return Region(start, self.stop, RegionKind.LOOP, self.times - opened)


@dataclass(frozen=True)
class Wiring:
    """The calls of a graph by number: operators, operands, and values that cross each cut."""

    operators: tuple[str, ...]
    reads: tuple[tuple[int, ...], ...]
    crossing: tuple[int, ...]
    """For each cut, the number of values computed before it and read after it."""

    @staticmethod
    def of(graph: Graph) -> Wiring:
        """Return the wiring of a graph."""
        number = {node.name: position for position, node in enumerate(graph.nodes)}
        reads = tuple(
            tuple({number[ref.name]: None for ref in node.refs if ref.name in number})
            for node in graph.nodes
        )
        return Wiring(tuple(node.target for node in graph.nodes), reads, _crossing(reads))


def _crossing(reads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    last = list(range(len(reads)))
    for position, sources in enumerate(reads):
        for source in sources:
            last[source] = position
    change = [0] * (len(reads) + 2)
    for position, reader in enumerate(last):
        change[position + 1] += 1
        change[reader + 1] -= 1
    return tuple(accumulate(change))


def children(wiring: Wiring, start: int, stop: int) -> list[Region]:
    """Return the boxes of a range of nodes, at most about ``MOST``."""
    items = _items(start, stop, blocks_of(list(wiring.operators[start:stop])))
    if len(items) == 1 and items[0].kind is not RegionKind.NODE and items[0].times == 1:
        return _nodes(start, stop)
    if len(items) > MOST:
        items = _stretches(wiring, items)
    return items if len(items) <= MOST else _parts(wiring, items)


def _nodes(start: int, stop: int) -> list[Region]:
    return [Region(position, position + 1) for position in range(start, stop)]


def _items(start: int, stop: int, blocks: Sequence[DrawnRun]) -> list[Region]:
    """Return the outermost blocks, and the nodes between them one by one."""
    items: list[Region] = []
    position = start
    for block in blocks:
        if block.start + start < position:
            continue  # inside the previous one
        items += _nodes(position, block.start + start)
        kind = RegionKind.LOOP if block.times > 1 else RegionKind.COPY
        items.append(Region(block.start + start, block.end + start, kind, block.times))
        position = block.end + start
    return items + _nodes(position, stop)


def _stretches(wiring: Wiring, items: Sequence[Region]) -> list[Region]:
    """Return blocks unchanged, and the nodes between two blocks grouped into parts."""
    found: list[Region] = []
    for is_node, group in groupby(items, lambda item: item.kind is RegionKind.NODE):
        nodes = list(group)
        found += _parts(wiring, nodes) if is_node and len(nodes) >= LEAST else nodes
    return found


def _parts(wiring: Wiring, items: Sequence[Region]) -> list[Region]:
    """Return neighbours grouped into parts."""
    size = max(PART, -(-len(items) // MOST))
    parts: list[Region] = []
    begin = 0
    while begin < len(items):
        end = _cut(wiring, items, begin, size)
        chosen = items[begin:end]
        whole = Region(chosen[0].start, chosen[-1].stop, RegionKind.PART)
        parts.append(chosen[0] if len(chosen) == 1 else whole)
        begin = end
    return parts


def _cut(wiring: Wiring, items: Sequence[Region], begin: int, size: int) -> int:
    """Return the end of a part: near its size, where the fewest values cross."""
    if len(items) - begin <= size * 4 // 3:
        return len(items)
    near = range(begin + size * 2 // 3, begin + size * 4 // 3 + 1)
    return min(near, key=lambda end: (wiring.crossing[items[end].start], abs(end - begin - size)))
