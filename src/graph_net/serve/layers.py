"""Layered layout: readers below their operands, long drawings in columns like text."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

GAP_X = 22.0
GAP_Y = 26.0
COLUMN_GAP = 96.0
WIDE = 1.5
"""Approximate ratio of a drawing's width to its height."""
SWEEPS = 4
SHORT = 12
"""Most layers of a drawing with a single column."""


@dataclass
class Placed:
    """A box with its size and, once placed, the middle of its upper edge."""

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    layer: int = 0
    column: int = 0
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)

    @property
    def left(self) -> float:
        """Its left edge."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Layers:
    """Placed boxes, their overall size, and the extent of each column."""

    boxes: tuple[Placed, ...]
    edges: tuple[tuple[int, int], ...]
    width: float
    height: float
    columns: tuple[tuple[float, float], ...]


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layers:
    """Place boxes of these sizes in layers; an edge leads from an earlier box to a later one."""
    boxes = [Placed(width, height) for width, height in sizes]
    for source, reader in edges:
        boxes[source].after.append(reader)
        boxes[reader].before.append(source)
    layers = _layers(boxes)
    for layer in layers:
        _spread(layer)
    for sweep in range(SWEEPS):
        for layer in layers:
            _settle(boxes, layer, down=True)
        if sweep < SWEEPS - 1:
            for layer in reversed(layers):
                _settle(boxes, layer, down=False)
    columns = _stack(layers)
    width = max((box.right for box in boxes), default=0.0)
    height = max((box.bottom for box in boxes), default=0.0)
    return Layers(tuple(boxes), tuple(edges), width, height, columns)


def _layers(boxes: list[Placed]) -> list[list[Placed]]:
    """Number layers by the longest path; a box without operands is right above its first reader."""
    for box in boxes:
        box.layer = 1 + max((boxes[source].layer for source in box.before), default=-1)
    for box in boxes:
        if not box.before and box.after:
            box.layer = min(boxes[reader].layer for reader in box.after) - 1
    found: dict[int, list[Placed]] = defaultdict(list)
    for box in boxes:
        found[box.layer].append(box)
    layers = [found[number] for number in sorted(found)]
    for number, layer in enumerate(layers):
        for box in layer:
            box.layer = number
    return layers


def _spread(layer: list[Placed]) -> None:
    total = sum(box.width for box in layer) + GAP_X * (len(layer) - 1)
    left = -total / 2
    for box in layer:
        box.x = left + box.width / 2
        left += box.width + GAP_X


def _settle(boxes: list[Placed], layer: list[Placed], down: bool) -> None:
    """Move each box near the middle of its neighbours, without overlaps."""
    wishes = {}
    for box in layer:
        near = box.before if down else box.after
        wishes[id(box)] = sum(boxes[n].x for n in near) / len(near) if near else box.x
    layer.sort(key=lambda box: wishes[id(box)])
    edge = -math.inf
    for box in layer:
        box.x = max(wishes[id(box)], edge + GAP_X + box.width / 2)
        edge = box.right
    # Boxes are only pushed to the right: shift the layer back by the excess.
    drift = sum(box.x - wishes[id(box)] for box in layer) / len(layer)
    for box in layer:
        box.x -= drift


def _stack(layers: list[list[Placed]]) -> tuple[tuple[float, float], ...]:
    """Stack layers, in several columns if there are many; return the columns' extents."""
    heights = [max(box.height for box in layer) + GAP_Y for layer in layers]
    left = min((box.left for layer in layers for box in layer), default=0.0)
    right = max((box.right for layer in layers for box in layer), default=0.0)
    number = 1
    if len(layers) > SHORT:
        wide = right - left + COLUMN_GAP
        number = max(1, round(math.sqrt(WIDE * sum(heights) / wide)))
    most = sum(heights) / number
    groups: list[list[int]] = [[]]
    filled = 0.0
    for place, height in enumerate(heights):
        if groups[-1] and filled + height / 2 > most and len(groups) < number:
            groups.append([])
            filled = 0.0
        groups[-1].append(place)
        filled += height
    ends, begin = [], 0.0
    for column, group in enumerate(groups):
        begin = _place_column([layers[place] for place in group], column, begin)
        ends.append(_ends([layers[place] for place in group]))
    return tuple(ends)


def _place_column(layers: list[list[Placed]], column: int, begin: float) -> float:
    """Place the layers of one column at ``begin``; return where the next column begins."""
    left = min(box.left for layer in layers for box in layer)
    y = 0.0
    for layer in layers:
        for box in layer:
            box.x += begin - left
            box.y, box.column = y, column
        y += max(box.height for box in layer) + GAP_Y
    return max(box.right for layer in layers for box in layer) + COLUMN_GAP


def _ends(layers: list[list[Placed]]) -> tuple[float, float]:
    boxes = [box for layer in layers for box in layer]
    return min(box.left for box in boxes), max(box.right for box in boxes)
