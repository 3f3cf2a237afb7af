"""Compare two samples of block log-ratios by their ranks, many graphs at a time.

The test is Mann and Whitney's, with its exact distribution; estimate and interval are those of
Hodges and Lehmann, from the same pairwise differences, so the three never disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from graph_net.score.samples import Floats, Ints

LARGEST = 64
"""Longer samples are thinned to this many evenly spaced blocks, for the exact distribution."""
_CELLS = 1 << 22
"""Differences in memory at a time."""


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths, one after another."""

    values: Floats
    counts: Ints

    @property
    def offsets(self) -> Ints:
        """The position at which each row begins."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)

    def take(self, rows: npt.NDArray[np.int64]) -> Ragged:
        """Return some of the rows."""
        counts = self.counts[rows]
        ends = np.cumsum(counts)
        within = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
        return Ragged(self.values[np.repeat(self.offsets[rows], counts) + within], counts)


@dataclass(frozen=True)
class Shifts:
    """The shift of the second sample above the first: estimate, interval, two-sided p-value.

    ``p`` tests the hypothesis that the shift is no larger than a margin, either way.
    """

    value: Floats
    low: Floats
    high: Floats
    p: Floats


@lru_cache(maxsize=4096)
def lower_tail(first: int, second: int) -> Floats:
    """Return P(U ≤ u) for u = 0 … first·second if both samples have one distribution.

    The recursion is over which sample holds the largest value: sums of positive terms only.
    """
    row = [np.ones(1) for _ in range(second + 1)]
    for i in range(1, first + 1):
        following = [np.ones(1)]
        for j in range(1, second + 1):
            chances = np.zeros(i * j + 1)
            chances[j:] += row[j] * (i / (i + j))
            chances[: i * (j - 1) + 1] += following[j - 1] * (j / (i + j))
            following.append(chances)
        row = following
    return np.asarray(np.minimum(np.cumsum(row[second]), 1.0), np.float64)


def measure_shifts(first: Ragged, second: Ragged, margin: Floats, confidence: float) -> Shifts:
    """Compare each row of the second with the same row of the first."""
    shifts = Shifts(*(np.full(len(margin), np.nan) for _ in range(4)))
    sizes = np.stack([first.counts, second.counts], axis=1)
    shapes, kind = np.unique(sizes, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    for number, (n, m) in enumerate(shapes):
        rows = np.flatnonzero(kind == number)
        step = max(1, _CELLS // max(1, min(n, LARGEST) * min(m, LARGEST)))
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            a = _thin(first.take(part).values.reshape(-1, n))
            b = _thin(second.take(part).values.reshape(-1, m))
            for name, values in _compare_rows(a, b, margin[part], confidence).items():
                getattr(shifts, name)[part] = values
    return shifts


def _thin(values: Floats) -> Floats:
    if values.shape[1] <= LARGEST:
        return values
    positions = np.linspace(0, values.shape[1] - 1, LARGEST).round().astype(np.int64)
    return values[:, positions]


def _compare_rows(a: Floats, b: Floats, margin: Floats, confidence: float) -> dict[str, Floats]:
    n, m = a.shape[1], b.shape[1]
    tail = lower_tail(n, m)
    differences = (b[:, :, None] - a[:, None, :]).reshape(len(a), -1)
    differences.sort(axis=1)
    # Differences that equal the margin count for neither side.
    below = (differences < -margin[:, None]).sum(axis=1)
    above = (differences > margin[:, None]).sum(axis=1)
    p = 2 * tail[n * m - np.maximum(below, above)]
    skipped = int(np.searchsorted(tail, (1 - confidence) / 2, side="right"))
    low, high = np.full(len(a), -np.inf), np.full(len(a), np.inf)
    if skipped:
        low, high = differences[:, skipped - 1], differences[:, n * m - skipped]
    value = np.median(differences, axis=1)
    return {"value": value, "low": low, "high": high, "p": np.minimum(p, 1.0)}


def adjust_p_values(p: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values: those up to q are findings at rate q."""
    order = np.argsort(p, kind="stable")[::-1]
    ranks = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / ranks)
    return np.minimum(adjusted, 1.0)
