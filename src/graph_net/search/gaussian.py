"""A Gaussian process over a space's features, with a length scale per feature.

The covariance is half the mean over single features, half that of all features together (Matérn
5/2, standardised features). The effect of a single parameter is learned from few points,
interactions from more. All matrices are dense, for tens to hundreds of points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graph_net.learn.metrics import Floats
from graph_net.search.descent import descend

SINGLE = 0.5
"""Share of the variance that single features explain."""
MEAN_SCALE, SPREAD = -0.7, 1.0
"""Prior mean and deviation of the log of an inverse length scale."""
LOG_NOISE, NOISE_SPREAD = float(np.log(1e-3)), 2.0
LOWEST, HIGHEST = -4.0, 2.5
LOWEST_NOISE = float(np.log(1e-6))
STEPS = 30
"""Steps of the descent."""
JITTER = 1e-8
TINY = 1e-12


@dataclass(frozen=True)
class GaussianProcess:
    """A process fitted to values at points."""

    points: Floats
    settings: Floats
    """Logarithms of the inverse length scale of each feature, then of the noise."""
    inverse: Floats
    """Inverse of the points' covariance, in units of ``variance``."""
    weights: Floats
    mean: float
    variance: float

    def predict(self, asked: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the deviation at each point."""
        covariance = _covariance(asked, self.points, np.exp(self.settings[:-1]))
        left = 1 - np.einsum("ij,ij->i", covariance @ self.inverse, covariance)
        deviation = np.sqrt(self.variance * np.maximum(left, 1e-9))
        return self.mean + covariance @ self.weights, deviation


def fit_process(points: Floats, values: Floats, steps: int = STEPS) -> GaussianProcess:
    """Return the process whose length scales and noise best explain the values."""
    squares = (points[:, None] - points[None]) ** 2
    start = np.append(np.full(points.shape[1], MEAN_SCALE), LOG_NOISE)
    lowest = np.append(np.full(points.shape[1], LOWEST), LOWEST_NOISE)
    highest = np.append(np.full(points.shape[1], HIGHEST), 0.0)
    best = descend(lambda asked: _loss(asked, values, squares), start, lowest, highest, steps)
    return condition(best, points, values)


def condition(settings: Floats, points: Floats, values: Floats) -> GaussianProcess:
    """Return the process with given settings."""
    noise = float(np.exp(settings[-1])) + JITTER
    covariance = _covariance(points, points, np.exp(settings[:-1]))
    inverse = np.asarray(np.linalg.inv(covariance + noise * np.eye(len(points))), np.float64)
    mean, weights, variance = likely_mean(inverse, values)
    return GaussianProcess(points, settings, inverse, weights, mean, variance)


def likely_mean(inverse: Floats, values: Floats) -> tuple[float, Floats, float]:
    """Return the most likely mean, the weights of the points, and the most likely variance."""
    ones = inverse.sum(axis=1)
    mean = float(ones @ values / ones.sum())
    weights = inverse @ (values - mean)
    return mean, weights, max(float((values - mean) @ weights) / len(values), TINY)


def _loss(settings: Floats, values: Floats, squares: Floats) -> tuple[float, Floats]:
    """Return the negative log posterior of settings, and its gradient."""
    count, precisions = len(values), np.exp(2 * settings[:-1])
    noise = float(np.exp(settings[-1]))
    single, by_single = matern(squares * precisions)
    joint, by_joint = matern(squares @ precisions)
    covariance = SINGLE * single.mean(axis=2) + (1 - SINGLE) * joint
    covariance[np.diag_indices(count)] += noise + JITTER
    inverse = np.linalg.inv(covariance)
    _, weights, variance = likely_mean(inverse, values)
    loss = 0.5 * count * np.log(variance) + 0.5 * np.linalg.slogdet(covariance)[1]
    outer = 0.5 * (inverse - np.outer(weights, weights) / variance)
    inner = SINGLE * by_single / precisions.size + (1 - SINGLE) * by_joint[:, :, None]
    inner *= outer[:, :, None]
    inner *= squares
    slope = np.append(2 * precisions * inner.sum(axis=(0, 1)), np.trace(outer) * noise)
    widths = np.append(np.full(precisions.size, SPREAD), NOISE_SPREAD)
    centre = np.append(np.full(precisions.size, MEAN_SCALE), LOG_NOISE)
    away = (settings - centre) / widths
    return float(loss + 0.5 * away @ away), slope + away / widths


def _covariance(one: Floats, other: Floats, scales: Floats) -> Floats:
    first, second = one * scales, other * scales
    single = sum(_of_feature(first[:, place], second[:, place]) for place in range(scales.size))
    sums = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)
    joint = matern(np.maximum(sums - 2 * first @ second.T, 0.0))[0]
    return np.asarray(SINGLE * single / scales.size + (1 - SINGLE) * joint, np.float64)


def _of_feature(one: Floats, other: Floats) -> Floats:
    """Return the covariance by one feature, which has few distinct values in a space."""
    values, rows = np.unique(one, return_inverse=True)
    others, columns = np.unique(other, return_inverse=True)
    table, _ = matern((values[:, None] - others) ** 2)
    return np.asarray(table[:, columns][rows], np.float64)


def matern(squares: Floats) -> tuple[Floats, Floats]:
    """Return the covariance at squared distances, and its derivative."""
    root = np.sqrt(5 * np.maximum(squares, TINY))
    decay = np.exp(-root)
    return (1 + root + root**2 / 3) * decay, -5 / 6 * (1 + root) * decay
