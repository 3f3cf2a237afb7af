"""Constants and names that the writer and the reader of the binary form share."""

from __future__ import annotations

import re

from graph_net.graph.graph import Level, Role
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe, Uniform

MAGIC = b"GNG1"
LEVELS = tuple(Level)
ROLES = tuple(Role)
NEAR, FAR, INPUT = range(3)
FAR_SPAN, FAR_USES = 100, 3
"""A node read this often over this distance (a mask, a rotary table) is referred to by position,
so that the layers that read it still give equal records."""
NAME_SHIFT = 4
"""Every ``1 << NAME_SHIFT`` letters of a name count as one value of the budget."""
NUMBER = re.compile(r"(0|[1-9][0-9]{0,8})")
_SUFFIX = re.compile(r"(.+)_(0|[1-9][0-9]{0,8})", re.ASCII)
LONG_FIELDS = ("library", "model", "category", "subcategory", "framework", "framework_version")


def split_suffix(name: str) -> tuple[str, int | None]:
    """Split ``relu_2`` into ``relu`` and 2, ``relu`` into itself and None."""
    match = _SUFFIX.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def join_suffix(base: str, number: int | None) -> str:
    """Reverse ``split_suffix``."""
    return base if number is None else f"{base}_{number}"


class NameSuffixGuess:
    """Predicts the number that FX appends to a name: one more than last time."""

    def __init__(self) -> None:
        self.last: dict[str, int | None] = {}

    def guess(self, base: str) -> int | None:
        return (self.last[base] or 0) + 1 if base in self.last else None

    def record(self, base: str, number: int | None) -> None:
        self.last[base] = number


RECIPES: tuple[type[Recipe], ...] = (Normal, Uniform, Integers, Bernoulli, Constant, Literal)
