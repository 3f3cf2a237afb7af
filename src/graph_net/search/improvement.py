"""Expected improvement: the value of a measurement, by a Gaussian process of earlier ones.

It starts without knowledge, from a design that fills the space, or from a model of other tasks or
devices, whose error the process then learns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from graph_net.learn.adapting import Adapts
from graph_net.learn.learning_set import Features, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.trees import pool_rows
from graph_net.search.gaussian import GaussianProcess, condition, fit_process

FAILED = 1.3
"""A failure counts as this many times the slowest program that ran."""
LEAST = 3
"""Number of programs that ran from which on a process is fitted."""
REFITTED = 4
"""Measurements after which length scales are fitted again."""
MOST_POINTS = 256
"""Most points that a process is fitted to: the fastest and the latest."""
_normal_tail = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))


@dataclass
class ExpectedImprovement:
    """Scores programs by the expected speed gain over the incumbent."""

    prior: Adapts | None = None
    """A model of other tasks; without one, programs far from all measured ones come first."""
    design: int = 12
    """Measurements that fill the space, or follow the prior, before the process decides."""
    seed: int = 0
    powers: tuple[float, ...] = (0.0, 0.5)
    """Powers of the label (best / cost) that the process learns, in turns; 0 is the log cost."""
    _kept: tuple[Features, Floats] | None = field(default=None, repr=False)
    _settings: dict[float, tuple[int, Floats]] = field(default_factory=dict, repr=False)

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return the log expected improvement; before the process is fitted, the initial order."""
        features = self._features(data)
        guess = None if self.prior is None else self.prior.predict_given(data, measured)
        costs = data.programs.costs[measured]
        if measured.size < self.design or np.isfinite(costs).sum() < LEAST:
            return self._begin(features, guess, measured)
        power = self.powers[measured.size % len(self.powers)]
        values = search_targets(costs, power)
        points, known = features, features[measured]
        if guess is not None:
            scaled = (guess - guess.mean()) / (guess.std() + 1e-12)
            points = np.column_stack([features, scaled])
            known = points[measured]
        kept = kept_points(values)
        process = self._process(power, measured.size, known[kept], values[kept])
        mean, deviation = process.predict(points)
        return _log_improvement(mean, deviation, float(values.min()))

    def _process(self, power: float, count: int, points: Floats, values: Floats) -> GaussianProcess:
        """Return a process, reusing length scales of some measurements ago if there are any."""
        when, settings = self._settings.get(power, (-REFITTED, np.zeros(0)))
        if 0 <= count - when < REFITTED and settings.size == points.shape[1] + 1:
            return condition(settings, points, values)
        process = fit_process(points, values)
        self._settings[power] = (count, process.settings)
        return process

    def _begin(self, features: Floats, guess: Floats | None, measured: Ints) -> Floats:
        """Return an order that fills the space; with a prior, its best programs come first."""
        if guess is not None:
            return guess
        return fill_order(features, measured, np.random.default_rng((self.seed, measured.size)))

    def _features(self, data: LearningSet) -> Floats:
        """Return the columns that vary, standardised; computed once per space."""
        if self._kept is None or self._kept[0] is not data.rows:
            values = pool_rows(data).astype(np.float64)
            spread = values.std(axis=0)
            varies = spread > 1e-6 * (1 + np.abs(values).max(axis=0))
            scaled = (values[:, varies] - values[:, varies].mean(axis=0)) / spread[varies]
            self._kept = (data.rows, scaled)
        return self._kept[1]


def fill_order(features: Floats, measured: Ints, chance: np.random.Generator) -> Floats:
    """Return scores by which programs far from all measured ones come first, with some chance."""
    if not measured.size:
        return chance.random(len(features))
    away = np.min([((features - features[place]) ** 2).sum(axis=1) for place in measured], axis=0)
    # Drawn in proportion to the fourth power of the distance (Gumbel's maximum).
    return np.asarray(2 * np.log(away + 1e-12) + chance.gumbel(size=len(features)), np.float64)


def search_targets(costs: Floats, power: float) -> Floats:
    """Return the process's targets, lower is better, with mean 0 and deviation 1."""
    ran = np.isfinite(costs)
    ratios = np.where(ran, costs, FAILED * costs[ran].max()) / costs[ran].min()
    values = np.log(ratios) if power == 0 else -(ratios**-power)
    return np.asarray((values - values.mean()) / (values.std() + 1e-12), np.float64)


def kept_points(values: Floats) -> Ints:
    """Return the indices of the fastest half and the latest half of the points to fit."""
    if values.size <= MOST_POINTS:
        return np.arange(values.size)
    best = np.argsort(values, kind="stable")[: MOST_POINTS // 2]
    return np.union1d(best, np.arange(values.size - MOST_POINTS // 2, values.size))


def _log_improvement(mean: Floats, deviation: Floats, incumbent: float) -> Floats:
    z = (incumbent - mean) / deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    expected = deviation * (z * _normal_tail(z) + density)
    return np.asarray(np.log(np.maximum(expected, 1e-300)) + 1e-9 * z, np.float64)
