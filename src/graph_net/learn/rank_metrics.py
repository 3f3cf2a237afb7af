"""How good a ranking of configurations is, as TpuGraphs and Kaggle define it.

Kendall's τ is scipy's (τ-b). OPA is the fraction of ordered pairs that are ranked right. Slowdown@k
is the fastest of the k best-predicted over the fastest of all, less 1. All take run times and
scores in tasks, as in ``graph_net.learn.metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from graph_net.learn.metrics import Floats, Ints, MetricError, TaskCosts

SLOWDOWNS = (1, 5, 10, 100)
TILE_K = 5
SMALL = 64
"""Number of values up to which all pairs are compared directly."""


def kendall_tau(one: ArrayLike, other: ArrayLike) -> float:
    """Return τ-b of two lists; 0 if one of them is constant, where scipy gives NaN."""
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if first.shape != second.shape or first.ndim != 1 or first.size < 2:
        raise MetricError("τ is of two lists of the same length, two values at least")
    counts = _count_pairs(first, second)
    under = np.sqrt(float(counts.total - counts.ties_first) * (counts.total - counts.ties_second))
    return float((counts.concordant - counts.discordant) / under) if under else 0.0


def ordered_pair_accuracy(costs: ArrayLike, scores: ArrayLike) -> float:
    """Return the share of pairs with different costs that scores rank right; ties count half."""
    first, second = -np.asarray(costs, np.float64), np.asarray(scores, np.float64)
    counts = _count_pairs(first, second)
    pairs = counts.total - counts.ties_first
    tied = pairs - counts.concordant - counts.discordant
    return float((counts.concordant + tied / 2) / pairs) if pairs else 0.5


def tau_by_task(programs: TaskCosts, scores: ArrayLike) -> Floats:
    """Return τ of each task; 0 for a task with one configuration."""
    values = np.asarray(scores, np.float64)
    return np.array(
        [
            kendall_tau(-programs.costs[rows], values[rows]) if rows.size > 1 else 0.0
            for rows in programs.rows()
        ]
    )


def opa_by_task(programs: TaskCosts, scores: ArrayLike) -> Floats:
    """Return OPA of each task."""
    values = np.asarray(scores, np.float64)
    return np.array(
        [
            ordered_pair_accuracy(programs.costs[rows], values[rows]) if rows.size > 1 else 0.5
            for rows in programs.rows()
        ]
    )


def slowdown_by_task(programs: TaskCosts, scores: ArrayLike, k: int) -> Floats:
    """Return slowdown@k of each task: 0 is perfect."""
    return programs.least_of_first(scores, k) / programs.least - 1


def random_slowdown(programs: TaskCosts, k: int) -> Floats:
    """Return the expected slowdown@k of a random order, for each task."""
    return programs.random_least(k) / programs.least - 1


def tile_score(programs: TaskCosts, scores: ArrayLike) -> float:
    """Return Kaggle's score of tiles: the mean of 1 - slowdown@5."""
    return float(np.mean(1 - slowdown_by_task(programs, scores, TILE_K)))


def kaggle_score(collections: Mapping[str, float]) -> float:
    """Return Kaggle's aggregate: the mean over five collections of τ (layouts) or tile score."""
    if not collections:
        raise MetricError("no collection has a score")
    return float(np.mean(list(collections.values())))


class _PairCounts:
    """How many pairs two lists order alike, oppositely, or not at all."""

    def __init__(self, total: int, first: int, second: int, both: int, discordant: int) -> None:
        self.total, self.ties_first, self.ties_second = total, first, second
        self.discordant = discordant
        self.concordant = total - first - second + both - discordant


def _count_pairs(first: Floats, second: Floats) -> _PairCounts:
    """Count pairs in O(n log² n), by merging."""
    order = np.lexsort((second, first))
    ranks_first = np.unique(first, return_inverse=True)[1]
    ranks_second = np.unique(second, return_inverse=True)[1]
    joint = ranks_first.astype(np.int64) * (int(ranks_second.max()) + 1) + ranks_second
    size = first.size
    return _PairCounts(
        size * (size - 1) // 2,
        _tied(ranks_first),
        _tied(ranks_second),
        _tied(joint),
        _inversions(ranks_second[order].astype(np.int64)),
    )


def _tied(ranks: Ints) -> int:
    counts = np.unique(ranks, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Ints) -> int:
    """Return the number of pairs whose earlier value is the greater."""
    if values.size <= SMALL:
        return int(np.triu(values[:, None] > values[None, :], 1).sum())
    middle = values.size // 2
    left, right = values[:middle], values[middle:]
    ascending = np.sort(left)
    across = left.size * right.size - int(np.searchsorted(ascending, right, "right").sum())
    return _inversions(left) + _inversions(right) + across
