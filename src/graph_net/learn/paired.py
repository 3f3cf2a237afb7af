"""Whether one model picks faster programs than another, on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graph_net.learn.metrics import Floats, MetricError

DRAWS = 10_000
LEVEL = 0.95
ALL = "all"


@dataclass(frozen=True)
class PairedDifference:
    """The mean over tasks of how much better one model's pick is, with a bootstrap interval."""

    kind: str
    tasks: int
    value: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.low > 0

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.high < 0


def compare_models(
    one: ArrayLike, other: ArrayLike, kinds: Sequence[str] = (), seed: int = 0
) -> list[PairedDifference]:
    """Compare two models by their ``best_over_picked`` on the same tasks in the same order.

    The first result is over all tasks, then one per value of ``kinds`` (the operator of each task).
    Tasks are drawn with replacement, both models' values together; for a single task, low and high
    are minus and plus infinity.
    """
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise MetricError("two models are compared on the same tasks, at least one")
    if kinds and len(kinds) != first.size:
        raise MetricError(f"{len(kinds)} kinds of {first.size} tasks")
    difference = first - second
    names = np.array(kinds, dtype=object)
    groups = [(ALL, difference)]
    groups += [(kind, difference[names == kind]) for kind in sorted(set(kinds))]
    return [_difference(kind, values, seed) for kind, values in groups]


def _difference(kind: str, values: Floats, seed: int) -> PairedDifference:
    count, mean = values.size, float(values.mean())
    if count == 1:
        return PairedDifference(kind, 1, mean, -np.inf, np.inf)
    generator = np.random.default_rng(seed)
    means = [float(values[generator.integers(count, size=count)].mean()) for _ in range(DRAWS)]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return PairedDifference(kind, count, mean, float(low), float(high))
