"""Levels of cost: groups of configurations with nearly equal cost, far from the next group.

Run times of one graph under many layouts lie in a few narrow bands. A node in a bad layout decides
the band; many small effects, equal in all bands, decide the place within it. A model that learns
band and place separately uses every configuration for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.metrics import Floats, Ints

GAP = 30.0
"""Least distance between two levels, in units of the noise."""
FEW = 3
"""Least members of a level; smaller levels join the nearest."""


@dataclass(frozen=True)
class CostLevels:
    """The level of each configuration, the position of each level, and the place within it."""

    level: Ints
    centers: Floats
    """Centre of each level, in normal quantiles of ranks."""
    spreads: Floats
    places: Floats
    """Place of each configuration within its level, in units of the spread of all places."""

    @staticmethod
    def of(costs: Floats, noise: float) -> CostLevels:
        """Find the levels of costs whose logarithms have this noise."""
        logs = np.log(costs)
        level = _group(logs, GAP * noise)
        ranks = normal_scores(costs)
        count = int(level.max()) + 1
        middles = np.array([np.median(logs[level == one]) for one in range(count)])
        places = np.arcsinh((logs - middles[level]) / (3 * noise))
        scale = float(places.std()) or 1.0
        return CostLevels(
            level,
            np.array([ranks[level == one].mean() for one in range(count)]),
            np.array([ranks[level == one].std() for one in range(count)]),
            places / scale,
        )

    def join(self, centers: Floats, places: Floats) -> Floats:
        """Return overall positions of configurations from predicted centres and places."""
        nearest = np.abs(centers[:, None] - self.centers[None]).argmin(axis=1)
        return np.asarray(centers + self.spreads[nearest] * places)


def noise_of(runs: list[Floats], costs: Floats) -> float:
    """Return the typical deviation of a run's log cost from its configuration's median.

    Without repeats it is the median distance between neighbours among sorted costs.
    """
    apart = [np.abs(np.log(one / np.median(one))) for one in runs if one.size > 1]
    found = np.concatenate(apart) if apart else np.zeros(0)
    found = found[found > 0]
    if found.size < 10:
        found = np.diff(np.sort(np.log(costs)))
        found = found[found > 0]
    return float(np.median(found)) if found.size else 1e-6


def normal_scores(values: Floats) -> Floats:
    """Return ranks as quantiles of a normal distribution; equal values share one."""
    from statistics import NormalDist

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = (ends - counts / 2) / len(values)
    return np.array([NormalDist().inv_cdf(float(one)) for one in middle])[inverse]


def _group(logs: Floats, gap: float) -> Ints:
    order = np.argsort(logs, kind="stable")
    cuts = np.concatenate([[False], np.diff(logs[order]) > gap])
    level = np.empty(len(logs), np.int64)
    level[order] = _merge_small(np.cumsum(cuts), logs[order])
    return level


def _merge_small(level: Ints, logs: Floats) -> Ints:
    """Return levels sorted by cost, none with fewer than ``FEW`` members."""
    while True:
        sizes = np.bincount(level)
        small = np.flatnonzero(sizes < FEW)
        if len(sizes) == 1 or not small.size:
            return level
        one = int(small[0])
        means = np.array([logs[level == k].mean() for k in range(len(sizes))])
        beside: NDArray[np.int64] = np.array([k for k in (one - 1, one + 1) if 0 <= k < len(sizes)])
        other = int(beside[np.abs(means[beside] - means[one]).argmin()])
        level = np.where(level == one, other, level)
        level = np.unique(level, return_inverse=True)[1]
