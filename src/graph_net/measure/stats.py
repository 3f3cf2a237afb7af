"""What interleaved samples say: a ratio, its interval, a verdict.

Blocks, not samples, are the unit: the samples of a block were taken side by side, so what
disturbed one arm disturbed the others too, and it cancels in their ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graph_net.record import Interval, Verdict

Floats = npt.NDArray[np.float64]
DRAWS = 500


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the sentence that explains it."""

    verdict: Verdict
    reason: str


def block_logs(first: Sequence[float], second: Sequence[float], per_block: int) -> Floats:
    """One log-ratio first / second a block, from samples in the order they were taken.

    An arm's value in a block is its quickest sample: what disturbs a sample only adds to it. On
    two cores beside five busy processes that made the interval fifty times as narrow as a mean.
    """
    a = np.asarray(first, dtype=np.float64).reshape(-1, per_block).min(axis=1)
    b = np.asarray(second, dtype=np.float64).reshape(-1, per_block).min(axis=1)
    logs: Floats = np.log(a) - np.log(b)
    return logs


def interval(logs: Floats, confidence: float, seed: int = 0) -> Interval:
    """The median of block log-ratios as a ratio, with a block-bootstrap interval."""
    middle = float(np.median(logs))
    if len(logs) == 1:
        return Interval(float(np.exp(middle)), float(np.exp(middle)), float(np.exp(middle)))
    random = np.random.default_rng(seed)
    medians = np.median(logs[random.integers(0, len(logs), (DRAWS, len(logs)))], axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(
        float(np.exp(middle)), float(np.exp(min(low, middle))), float(np.exp(max(high, middle)))
    )


def half_width(found: Interval) -> float:
    """Half the width of an interval, as a share of its value."""
    return (found.high - found.low) / (2 * found.value)


def judge(speedup: Interval, noise: Interval, margin: float) -> Judged:
    """Faster or slower only if the whole interval is beyond the margin and the noise floor."""
    floor = max(margin, noise.high - 1, 1 - noise.low)
    if speedup.low > 1 + floor:
        return Judged(Verdict.FASTER, "")
    if speedup.high < 1 / (1 + floor):
        return Judged(Verdict.SLOWER, "")
    if floor > margin and (speedup.low > 1 + margin or speedup.high < 1 / (1 + margin)):
        return Judged(
            Verdict.AMBIGUOUS, f"eager differs from itself by up to {floor:.1%}: too noisy to say"
        )
    if 1 / (1 + margin) <= speedup.low and speedup.high <= 1 + margin:
        return Judged(Verdict.SAME, "")
    return Judged(
        Verdict.AMBIGUOUS, f"between {speedup.low:.3f} and {speedup.high:.3f} times as fast"
    )
