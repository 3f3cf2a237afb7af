"""A layout as a row of features known before it runs.

Copies by kind, and the chosen orders by kind of node. The analytical cost is the bytes that a
layout moves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graph_net.configs.layouts.copies import CopyKind
from graph_net.configs.layouts.sites import SiteKind

LETTERS = {kind[0]: kind for kind in SiteKind}
"""Letters of a task's ``kinds``, one per site."""
_TENSORS = ("output", "input", "kernel")
_CHOICES = ("contiguous", "other")
COLUMNS = (
    *(f"{kind}_{what}" for kind in CopyKind for what in ("count", "bytes", "share", "load")),
    *(f"{k}_{t}_{c}" for k in SiteKind for t in _TENSORS for c in _CHOICES),
    *(f"{kind}_sites" for kind in SiteKind),
    "set_share",
)
"""The names of the numbers."""


def feature_row(
    schedule: str, kinds: str, copies: Mapping[str, Sequence[int]], seconds: float
) -> list[float]:
    """Return the features of a layout.

    ``copies`` has count and bytes by kind of copy. ``seconds`` is the time of the original: the
    effect of copies depends on the other work.
    """
    rows = json.loads(schedule)
    total = max(1, len(rows))
    return [*_of_copies(copies, total, seconds), *_of_orders(rows, kinds)]


def _of_copies(copies: Mapping[str, Sequence[int]], total: int, seconds: float) -> Iterator[float]:
    for kind in CopyKind:
        count, size = copies.get(str(kind), (0, 0))
        yield from (math.log2(1 + count), math.log2(1 + size / 1024), count / total)
        yield size / 2**30 / seconds


def _of_orders(rows: Sequence[Sequence[int]], kinds: str) -> Iterator[float]:
    """Yield the share of each kind's sites that set a tensor to an order, then the site counts."""
    total = max(1, len(rows))
    for kind in SiteKind:
        chosen = [row for row, letter in zip(rows, kinds, strict=True) if LETTERS[letter] is kind]
        for place in range(len(_TENSORS)):
            numbers = [row[place] for row in chosen]
            plain = sum(number == _contiguous(number) for number in numbers if number)
            other = sum(number != _contiguous(number) for number in numbers if number)
            yield from (plain / max(1, len(chosen)), other / max(1, len(chosen)))
    for kind in SiteKind:
        yield math.log2(1 + sum(LETTERS[letter] is kind for letter in kinds))
    yield sum(any(row) for row in rows) / total


def _contiguous(number: int) -> int:
    """Return the number of the contiguous order of the same rank."""
    return int("".join(str(n) for n in range(len(str(number)), 0, -1)))


def moved_bytes(copies: Mapping[str, Sequence[int]]) -> float:
    """Return the bytes that a layout moves besides computing: the analytical cost.

    Copies read and write; a call over two layouts reads one of them out of order, at about the same
    cost.
    """
    return float(sum(size for _, size in copies.values()))


def label_of(costs: Sequence[float], extra: Mapping[str, Any]) -> float:
    """Return the log of a layout's time over the original's in the same turn."""
    from statistics import median

    return math.log(median(costs) / median(extra["control"]))
