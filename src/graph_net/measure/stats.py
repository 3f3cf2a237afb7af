"""Statistics of interleaved samples: a ratio, its interval, a verdict.

Blocks, not samples, are the unit: the samples of a block were taken side by side, so disturbances
hit all arms and cancel in their ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
import numpy.typing as npt

from graph_net.results import Interval, Verdict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TimingVerdict:
    """A verdict and the sentence that explains it."""

    verdict: Verdict
    reason: str


def block_logs(first: Sequence[float], second: Sequence[float], per_block: int) -> Floats:
    """Return the log-ratio first / second of each block, from samples in order.

    An arm's value in a block is its quickest sample: disturbances only add time. On two cores
    with five busy processes, this made the interval fifty times narrower than that of a mean.
    """
    a = np.asarray(first, dtype=np.float64).reshape(-1, per_block).min(axis=1)
    b = np.asarray(second, dtype=np.float64).reshape(-1, per_block).min(axis=1)
    logs: Floats = np.log(a) - np.log(b)
    return logs


def median_interval(logs: Floats, confidence: float) -> Interval:
    """Return the median of block log-ratios as a ratio, with the interval of its ranks.

    The k-th smallest and the k-th largest block enclose the median with a binomial probability,
    whatever the distribution. Fewer than eight blocks cannot reach 99 %: then it spans all of them.
    """
    ordered = np.sort(logs)
    skipped = _count_skipped(len(logs), (1 - confidence) / 2)
    low, middle, high = ordered[skipped], np.median(ordered), ordered[len(logs) - 1 - skipped]
    return Interval(float(np.exp(middle)), float(np.exp(low)), float(np.exp(high)))


@cache
def _count_skipped(count: int, tail: float) -> int:
    """Return how many blocks lie outside the interval on each side."""
    probability, skipped = 0.5**count, 0
    while skipped < (count - 1) // 2:
        following = probability + comb(count, skipped + 1) * 0.5**count
        if following > tail:
            break
        probability, skipped = following, skipped + 1
    return skipped


def half_width(interval: Interval) -> float:
    """Return half the width of an interval, relative to its value."""
    return (interval.high - interval.low) / (2 * interval.value)


def judge(speedup: Interval, noise: Interval, margin: float) -> TimingVerdict:
    """Judge a speedup: faster or slower only if its interval is beyond margin and noise floor."""
    floor = max(margin, noise.high - 1, 1 / noise.low - 1)
    if speedup.low > 1 + floor:
        return TimingVerdict(Verdict.FASTER, "")
    if speedup.high < 1 / (1 + floor):
        return TimingVerdict(Verdict.SLOWER, "")
    if floor > margin and (speedup.low > 1 + margin or speedup.high < 1 / (1 + margin)):
        return TimingVerdict(
            Verdict.AMBIGUOUS, f"eager differs from itself by up to {floor:.1%}: too noisy to say"
        )
    if 1 / (1 + margin) <= speedup.low and speedup.high <= 1 + margin:
        return TimingVerdict(Verdict.SAME, "")
    return TimingVerdict(
        Verdict.AMBIGUOUS, f"between {speedup.low:.3f} and {speedup.high:.3f} times as fast"
    )
