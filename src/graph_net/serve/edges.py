"""Route edges between placed boxes as SVG paths, around the boxes in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from graph_net.serve.layers import Layers, Placed

FAR = 12
"""Number of layers beyond which an edge is faint."""
LANES = 6


@dataclass(frozen=True, slots=True)
class EdgePath:
    """A path, and its style: empty, "far" or "turn"."""

    path: str
    kind: str


def lines_of(laid: Layers, dx: float = 0.0, dy: float = 0.0) -> Iterator[EdgePath]:
    """Yield the edges of a drawing shifted by (dx, dy)."""
    sides = _sides(laid)
    for source, reader in laid.edges:
        first, second = laid.boxes[source], laid.boxes[reader]
        if first.column != second.column:
            yield _turn(first, second, laid, dx, dy)
        elif second.layer - first.layer == 1:
            yield EdgePath(_bow(first, second, dx, dy), "")
        else:
            yield _past(first, second, sides, dx, dy)


def _sides(laid: Layers) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the left and right extent of each layer's boxes, by column and layer."""
    found: dict[tuple[int, int], list[Placed]] = defaultdict(list)
    for box in laid.boxes:
        found[box.column, box.layer].append(box)
    return {
        place: (min(box.left for box in boxes), max(box.right for box in boxes))
        for place, boxes in found.items()
    }


def _bow(first: Placed, second: Placed, dx: float, dy: float) -> str:
    x1, y1, x2, y2 = first.x + dx, first.bottom + dy, second.x + dx, second.y + dy
    bend = (y2 - y1) / 2
    return f"M{x1:.0f},{y1:.0f}C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2:.0f}"


def _past(
    first: Placed,
    second: Placed,
    sides: dict[tuple[int, int], tuple[float, float]],
    dx: float,
    dy: float,
) -> EdgePath:
    """Return a path beside the layers in between, on the nearer side."""
    between = [
        sides[first.column, layer]
        for layer in range(first.layer + 1, second.layer)
        if (first.column, layer) in sides
    ]
    span = second.layer - first.layer
    offset = 8.0 + 4.0 * (span % LANES)
    left = min([first.x, second.x, *(low for low, _ in between)]) - offset
    right = max([first.x, second.x, *(high for _, high in between)]) + offset
    middle = (first.x + second.x) / 2
    side = (right if right - middle <= middle - left + 1 else left) + dx
    x1, y1, x2, y2 = first.x + dx, first.bottom + dy, second.x + dx, second.y + dy
    run = min(40.0, (y2 - y1) / 3)
    path = (
        f"M{x1:.0f},{y1:.0f}C{x1:.0f},{y1 + run / 2:.0f} {side:.0f},{y1:.0f} {side:.0f},"
        f"{y1 + run:.0f}V{y2 - run:.0f}C{side:.0f},{y2:.0f} {x2:.0f},{y2 - run / 2:.0f} "
        f"{x2:.0f},{y2:.0f}"
    )
    return EdgePath(path, "far" if span > FAR else "")


def _turn(first: Placed, second: Placed, laid: Layers, dx: float, dy: float) -> EdgePath:
    """Return a path up between the columns, just before the target's column."""
    begin = laid.columns[second.column][0]
    gap = begin - 16 - 7 * (first.layer % LANES) + dx
    x1, y1, x2, y2 = first.x + dx, first.bottom + dy, second.x + dx, second.y + dy
    path = f"M{x1:.0f},{y1:.0f}v9H{gap:.0f}V{y2 - 11:.0f}H{x2:.0f}V{y2:.0f}"
    return EdgePath(path, "turn" if second.layer - first.layer == 1 else "far")
