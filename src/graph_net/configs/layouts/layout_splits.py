"""Which graphs a layout model learns from and is judged on: by id, and by family.

A hash of the id or the family decides, so a graph stays on its side when others are added, and on
every device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

PARTS = 10
SIDES = {"test": (0, 1), "valid": (2,)}
"""Hash buckets of ten for each side; the others are for training."""
RULES = {
    "graph": "One graph id in five is for testing and one in ten for validation, by a hash of it.",
    "family": (
        "One family in five is for testing and one in ten for validation, by a hash of its name: "
        "models of a family (timm/resnet) are never on both sides."
    ),
}


@dataclass(frozen=True)
class LayoutSplits:
    """The graphs of each side, by rule; all others are for training."""

    rules: Mapping[str, str]
    sides: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Names of graphs, by rule and side."""


def side_of(rule: str, key: str) -> str:
    """Return the side of a graph by the hash of its id or family."""
    part = int(sha256(f"layouts:{rule}:{key}".encode()).hexdigest()[:8], 16) % PARTS
    return next((side for side, parts in SIDES.items() if part in parts), "train")


def make_layout_splits(graphs: Sequence[tuple[str, str, str]]) -> LayoutSplits:
    """Return the splits of graphs given as name, id and family."""
    sides: dict[str, dict[str, tuple[str, ...]]] = {}
    for rule, place in (("graph", 1), ("family", 2)):
        by_side: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
        for graph in sorted(graphs):
            by_side[side_of(rule, graph[place])].append(graph[0])
        sides[rule] = {side: tuple(names) for side, names in by_side.items()}
    return LayoutSplits(RULES, sides)
