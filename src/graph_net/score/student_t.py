"""How much wider an interval must be because few families were drawn from: Student's t."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

NORMAL = NormalDist()
MANY = 200
"""From so many degrees of freedom on, t is as good as normal."""


@lru_cache(maxsize=4096)
def stretch(families: int, confidence: float) -> float:
    """By what factor the spread of bootstrap draws falls short of an interval's.

    Draws of n families spread as if their variance were divided by n, not by n - 1, and percentiles
    take that variance for known. Both are mended by one factor, sqrt(n / (n - 1)) · t / z.
    """
    if families < 2:
        return 1.0  # nothing is drawn: there is no choice of graphs to be unsure of
    tail = (1 + confidence) / 2
    return math.sqrt(families / (families - 1)) * quantile(families - 1, tail) / z_of(confidence)


def z_of(confidence: float) -> float:
    """Half the width of a normal interval, in standard deviations."""
    return NORMAL.inv_cdf((1 + confidence) / 2)


def quantile(freedom: int, share: float) -> float:
    """The quantile of Student's t above the median, for whole degrees of freedom."""
    if freedom > MANY:
        return NORMAL.inv_cdf(share)
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # the angle whose tangent is t / sqrt(freedom)
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 2 * share - 1 else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """P(|t| < sqrt(freedom)·tan(angle)): a finite sum for whole degrees of freedom."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = 0.0
    for power in range(2 if freedom % 2 else 1, freedom, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    return (angle + sine * total) * 2 / math.pi if freedom % 2 else sine * total
