"""Adapts: the protocol of models that rank a task better once some of its programs are measured.

Also simple ways in which a cost model trained on other tasks, or no model at all, can use
measurements: the baselines of an in-context ranker.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graph_net.learn.cost_model import CostModel
from graph_net.learn.learning_set import Features, LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.trees import pool_rows

FAILED = 1.0
"""How far a failure's log cost is above that of the slowest program that ran."""
LEAST_FOR_TREES = 4
LEAST_FOR_PROCESS = 2
LENGTHS, NOISES = (0.25, 0.5, 1.0, 2.0), (0.01, 0.1, 1.0)
"""Candidate length scales and noises of a Gaussian process on standardised features."""


class Adapts(Protocol):
    """A model whose scores of a task's programs may use the costs of some of them."""

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return a score for each program of ``data``; higher is faster, within a task.

        ``measured`` has the indices of the programs whose costs are known; no other cost is read.
        """


def split_by_task(data: LearningSet, measured: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the programs of each task, and the measured ones among them."""
    is_measured = np.zeros(len(data), bool)
    is_measured[measured] = True
    for rows in data.programs.rows():
        yield rows, rows[is_measured[rows]]


@dataclass(frozen=True)
class ZeroShot:
    """A model that ignores measurements."""

    model: CostModel

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return the model's scores."""
        return self.model.predict(data)


@dataclass(frozen=True)
class RandomOrder:
    """A random order, determined by the set and the seed."""

    seed: int = 0

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return random numbers."""
        return np.random.default_rng(self.seed).normal(size=len(data))


class _LearnsTheRest(ABC):
    """Fits what the scores of a first model leave unexplained of the costs, task by task."""

    least: int
    """Number of programs that ran from which on a fit is made."""

    def __init__(self, first: Adapts) -> None:
        self.first = first

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return the first model's scores, corrected by the fit."""
        scores = np.array(self.first.predict_given(data, measured), np.float64)
        pooled = pool_rows(data)
        for asked, references in split_by_task(data, measured):
            costs = _log_costs(data.programs.costs[references])
            if np.isfinite(data.programs.costs[references]).sum() < self.least:
                continue
            features = _standardised(pooled[asked])
            positions = np.searchsorted(asked, references)
            scores[asked] = self._corrected(features, scores[asked], positions, -costs)
        return scores

    @abstractmethod
    def _corrected(
        self, features: Floats, scores: Floats, positions: Ints, speeds: Floats
    ) -> Floats:
        """Return scores corrected by the speeds of the programs at ``positions``."""


class _FitsTheError(_LearnsTheRest):
    """Adds a fit of the first model's error to its scores."""

    def _corrected(
        self, features: Floats, scores: Floats, positions: Ints, speeds: Floats
    ) -> Floats:
        error = speeds - scores[positions]
        error -= error.mean()
        return scores + self._fit(features, features[positions], error)

    @abstractmethod
    def _fit(self, features: Floats, reference_features: Floats, error: Floats) -> Floats: ...


class ResidualTrees(_FitsTheError):
    """LightGBM fitted to a model's error on the measured programs of a task."""

    least = LEAST_FOR_TREES

    def _fit(self, features: Floats, reference_features: Floats, error: Floats) -> Floats:
        return _small_trees(reference_features, error, features)


class ResidualProcess(_FitsTheError):
    """A Gaussian process fitted to a model's error on the measured programs of a task."""

    least = LEAST_FOR_PROCESS

    def _fit(self, features: Floats, reference_features: Floats, error: Floats) -> Floats:
        return gaussian_process(reference_features, error, features)


class TaskTrees(ResidualTrees):
    """LightGBM trained on a task's measured programs alone; a random order until then."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(RandomOrder(seed))

    def _corrected(
        self, features: Floats, scores: Floats, positions: Ints, speeds: Floats
    ) -> Floats:
        return _small_trees(features[positions], speeds, features) + 1e-9 * scores


class NearestNeighbour(_LearnsTheRest):
    """The speed of the most similar measured program; a random order until one is measured."""

    least = 1

    def __init__(self, seed: int = 0) -> None:
        super().__init__(RandomOrder(seed))

    def _corrected(
        self, features: Floats, scores: Floats, positions: Ints, speeds: Floats
    ) -> Floats:
        distances = _squared_distances(features, features[positions])
        nearest = speeds[distances.argmin(axis=1)] - 1e-3 * distances.min(axis=1)
        return np.asarray(nearest, np.float64)


def gaussian_process(points: Floats, values: Floats, asked: Floats) -> Floats:
    """Return the posterior mean at ``asked``, with the most likely length scale and noise."""
    inner, outer = _squared_distances(points, points), _squared_distances(asked, points)
    best, mean = -np.inf, np.zeros(len(asked))
    for length in LENGTHS:
        kernel = np.exp(-inner / (2 * length**2))
        for noise in NOISES:
            factor = np.linalg.cholesky(kernel + (noise + 1e-8) * np.eye(len(points)))
            weights = np.linalg.solve(factor.T, np.linalg.solve(factor, values))
            scale = max(float(values @ weights) / len(values), 1e-12)
            likelihood = -len(values) * np.log(scale) / 2 - np.log(np.diag(factor)).sum()
            if likelihood > best:
                best, mean = likelihood, np.exp(-outer / (2 * length**2)) @ weights
    return mean


def _small_trees(rows: Floats, values: Floats, asked: Floats) -> Floats:
    """Return the predictions for ``asked`` of LightGBM fitted to a few rows."""
    try:
        library: Any = importlib.import_module("lightgbm")
    except ImportError as error:
        raise LearnError("lightgbm is not installed: pip install lightgbm") from error
    settings = {
        "objective": "regression",
        "learning_rate": 0.1,
        "num_leaves": 8,
        "min_data_in_leaf": 2,
        "min_data_in_bin": 1,
        "feature_pre_filter": False,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    data = library.Dataset(rows, values, params=settings)
    return np.asarray(library.train(settings, data, 60).predict(asked, num_threads=1), np.float64)


def _log_costs(costs: Floats) -> Floats:
    ran = np.isfinite(costs)
    if not ran.any():
        return np.zeros(costs.shape)
    return np.where(ran, np.log(np.where(ran, costs, 1.0)), np.log(costs[ran].max()) + FAILED)


def _standardised(rows: Features) -> Floats:
    """Return the columns that vary within a task, scaled to equal weight."""
    values = rows.astype(np.float64)
    deviation = values.std(axis=0)
    varies = deviation > 1e-6 * (1 + np.abs(values).max(axis=0))
    if not varies.any():
        return np.zeros((len(rows), 1))
    scaled = (values[:, varies] - values[:, varies].mean(axis=0)) / deviation[varies]
    return np.asarray(scaled / np.sqrt(varies.sum()), np.float64)


def _squared_distances(one: Floats, other: Floats) -> Floats:
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)
    return np.asarray(np.maximum(squares - 2 * one @ other.T, 0.0), np.float64)
