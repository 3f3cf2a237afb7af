"""A Gaussian process over a space's features: a length scale for each, found by likelihood.

Matérn 5/2 on standardised features, a constant mean. Few points (a search has tens to hundreds), so
everything is dense and in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graph_net.learn.metrics import Floats

MEAN_SCALE, SPREAD = -0.7, 1.0
"""Of the log of an inverse length scale, before anything is seen."""
LOG_NOISE, NOISE_SPREAD = float(np.log(1e-3)), 2.0
LOWEST, HIGHEST = -4.0, 2.5
STEPS = 30
"""Of the ascent of the likelihood, each with its own pace (Rprop)."""
JITTER = 1e-8


@dataclass(frozen=True)
class GaussianProcess:
    """A process that was fitted to values at points."""

    points: Floats
    settings: Floats
    """Logarithms: of the inverse length scale of each feature, then of the noise."""
    factor: Floats
    """Cholesky factor of the covariance of the points, in units of ``variance``."""
    weights: Floats
    mean: float
    variance: float

    def predict(self, asked: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the deviation at each point asked for."""
        scales = np.exp(self.settings[:-1])
        covariance = _matern(_distances(asked * scales, self.points * scales))
        solved = np.linalg.solve(self.factor, covariance.T)
        left = np.maximum(1 - (solved**2).sum(axis=0), 1e-9)
        return self.mean + covariance @ self.weights, np.sqrt(self.variance * left)


def fit_process(points: Floats, values: Floats, steps: int = STEPS) -> GaussianProcess:
    """Return the process whose length scales and noise explain the values best."""
    squares = (points[:, None] - points[None]) ** 2
    best = np.append(np.full(points.shape[1], MEAN_SCALE), LOG_NOISE)
    settings, pace, last = best.copy(), np.full(best.size, 0.2), np.zeros(best.size)
    least = np.inf
    for _ in range(steps):
        loss, slope = _loss(settings, values, squares)
        if loss < least:
            least, best = loss, settings.copy()
        agree = np.sign(slope) * np.sign(last)
        pace = np.clip(pace * np.where(agree > 0, 1.3, np.where(agree < 0, 0.5, 1.0)), 1e-3, 0.8)
        last = np.where(agree < 0, 0.0, slope)
        settings = settings - pace * np.sign(last)
        settings[:-1] = np.clip(settings[:-1], LOWEST, HIGHEST)
        settings[-1] = np.clip(settings[-1], np.log(1e-6), 0.0)
    return condition(best, points, values)


def condition(settings: Floats, points: Floats, values: Floats) -> GaussianProcess:
    """Return the process with settings that were found before."""
    scales, noise = np.exp(settings[:-1]), float(np.exp(settings[-1]))
    covariance = _matern(_distances(points * scales, points * scales))
    factor = np.linalg.cholesky(covariance + (noise + JITTER) * np.eye(len(points)))
    ones = _solve(factor, np.ones(len(points)))
    mean = float(ones @ values / ones.sum())
    weights = _solve(factor, values - mean)
    variance = max(float((values - mean) @ weights) / len(values), 1e-12)
    return GaussianProcess(points, settings, factor, weights, mean, variance)


def _loss(settings: Floats, values: Floats, squares: Floats) -> tuple[float, Floats]:
    """Return the negative log posterior of settings, and its slope."""
    precisions, noise = np.exp(2 * settings[:-1]), float(np.exp(settings[-1]))
    root = np.sqrt(5 * np.maximum(squares @ precisions, 1e-12))
    decay = np.exp(-root)
    covariance = (1 + root + root**2 / 3) * decay
    factor = np.linalg.cholesky(covariance + (noise + JITTER) * np.eye(len(values)))
    inverse = _solve(factor, np.eye(len(values)))
    ones = inverse.sum(axis=1)
    rest = values - ones @ values / ones.sum()
    weights = inverse @ rest
    variance = max(float(rest @ weights) / len(values), 1e-12)
    loss = 0.5 * len(values) * np.log(variance) + np.log(np.diag(factor)).sum()
    outer = 0.5 * (inverse - np.outer(weights, weights) / variance)
    by_square = outer * (-5 / 6) * (1 + root) * decay
    slope = np.append(
        2 * precisions * np.tensordot(by_square, squares, axes=([0, 1], [0, 1])),
        np.trace(outer) * noise,
    )
    away = (settings - np.append(np.full(precisions.size, MEAN_SCALE), LOG_NOISE)) / np.append(
        np.full(precisions.size, SPREAD), NOISE_SPREAD
    )
    widths = np.append(np.full(precisions.size, SPREAD), NOISE_SPREAD)
    return float(loss + 0.5 * away @ away), slope + away / widths


def _solve(factor: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, right)), np.float64)


def _matern(squares: Floats) -> Floats:
    root = np.sqrt(5 * np.maximum(squares, 0.0))
    return np.asarray((1 + root + root**2 / 3) * np.exp(-root), np.float64)


def _distances(one: Floats, other: Floats) -> Floats:
    sums = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)
    return np.asarray(np.maximum(sums - 2 * one @ other.T, 0.0), np.float64)
