"""Student's t: how much wider an interval must be because there are few families."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

NORMAL = NormalDist()
MANY = 200
"""Degrees of freedom from which on t is treated as normal."""


@lru_cache(maxsize=4096)
def stretch_factor(families: int, confidence: float) -> float:
    """Return the factor by which bootstrap draws must be spread to cover an interval.

    Draws of n families spread as if their variance were divided by n, not by n - 1, and percentiles
    take that variance for known. One factor corrects both, sqrt(n / (n - 1)) · t / z.
    """
    if families < 2:
        return 1.0  # there is only one choice of families
    tail = (1 + confidence) / 2
    return math.sqrt(families / (families - 1)) * t_quantile(families - 1, tail) / z_of(confidence)


def z_of(confidence: float) -> float:
    """Return half the width of a normal interval, in standard deviations."""
    return NORMAL.inv_cdf((1 + confidence) / 2)


def t_quantile(freedom: int, share: float) -> float:
    """Return a quantile of Student's t above the median, for whole degrees of freedom."""
    if freedom > MANY:
        return NORMAL.inv_cdf(share)
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # the angle whose tangent is t / sqrt(freedom)
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 2 * share - 1 else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return P(|t| < sqrt(freedom)·tan(angle)): a finite sum for whole degrees of freedom."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = 0.0
    for power in range(2 if freedom % 2 else 1, freedom, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    return (angle + sine * total) * 2 / math.pi if freedom % 2 else sine * total
