"""A graph as regions inside regions: what is drawn as one box until it is opened.

Blocks that repeat are regions, as in the report. Where too many boxes are left, neighbours are
gathered into parts, cut where the fewest values cross: a picture has a bounded number of boxes,
whatever the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, groupby

from graph_net.graph import Graph
from graph_net.report.page_drawing import DrawnRun, blocks_of

MOST = 100
"""Boxes of one region, about."""
PART = 50
"""Items of one part, about."""
LEAST = 6
"""Items of one part, at least."""


class RegionKind(Enum):
    """Why nodes are one box."""

    NODE = "node"
    LOOP = "loop"
    COPY = "copy"
    RUN = "run"
    PART = "part"


@dataclass(frozen=True, slots=True)
class Region:
    """The nodes from ``start`` to before ``stop``; a loop is ``times`` runs of equal length."""

    start: int
    stop: int
    kind: RegionKind = RegionKind.NODE
    times: int = 1

    @property
    def id(self) -> str:
        """Its name in addresses."""
        return f"{self.start}-{self.stop}"

    @property
    def period(self) -> int:
        """The nodes of one run."""
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
    """The calls of a graph by number: what each is, what it reads, how many values cross a cut."""

    operators: tuple[str, ...]
    reads: tuple[tuple[int, ...], ...]
    crossing: tuple[int, ...]
    """By cut: the values that are computed before it and read after it."""

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
    """Return the boxes that a range of nodes is drawn as, at most about ``MOST``."""
    items = _items(start, stop, blocks_of(list(wiring.operators[start:stop])))
    if len(items) == 1 and items[0].kind is not RegionKind.NODE and items[0].times == 1:
        return _nodes(start, stop)
    if len(items) > MOST:
        items = _stretches(wiring, items)
    return items if len(items) <= MOST else _parts(wiring, items)


def _nodes(start: int, stop: int) -> list[Region]:
    return [Region(position, position + 1) for position in range(start, stop)]


def _items(start: int, stop: int, blocks: Sequence[DrawnRun]) -> list[Region]:
    """Return outermost blocks, and the nodes between them one by one."""
    items: list[Region] = []
    position = start
    for block in blocks:
        if block.start + start < position:
            continue  # inside the one before
        items += _nodes(position, block.start + start)
        kind = RegionKind.LOOP if block.times > 1 else RegionKind.COPY
        items.append(Region(block.start + start, block.end + start, kind, block.times))
        position = block.end + start
    return items + _nodes(position, stop)


def _stretches(wiring: Wiring, items: Sequence[Region]) -> list[Region]:
    """Return blocks as they are, and the nodes between two of them gathered into parts."""
    found: list[Region] = []
    for is_node, group in groupby(items, lambda item: item.kind is RegionKind.NODE):
        nodes = list(group)
        found += _parts(wiring, nodes) if is_node and len(nodes) >= LEAST else nodes
    return found


def _parts(wiring: Wiring, items: Sequence[Region]) -> list[Region]:
    """Return neighbours gathered into parts."""
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
    """Return where a part ends: near its size, where the fewest values cross."""
    if len(items) - begin <= size * 4 // 3:
        return len(items)
    near = range(begin + size * 2 // 3, begin + size * 4 // 3 + 1)
    return min(near, key=lambda end: (wiring.crossing[items[end].start], abs(end - begin - size)))
