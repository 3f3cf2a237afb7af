"""A time that is the sum of its calls': trees give the cost of a call, learned from whole graphs.

The cost of a call is its roofline seconds times a factor that trees give from its features. What is
measured are times of whole graphs, so a tree is grown on the gradient of the error of the sums, and
the values of its leaves are solved for together: a layout adds up to known amounts of each leaf.
Errors are relative to the spread within a graph, whose mean is subtracted: graphs weigh alike, and
only differences between layouts of one graph count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graph_net.configs.layouts.call_features import COLUMNS, Floats
from graph_net.configs.layouts.layout_examples import GraphLayouts, Ints

ROUNDS, LEAVES, RATE, RIDGE = 150, 16, 0.15, 0.02
SETTINGS = {
    "objective": "none", "num_leaves": LEAVES, "min_data_in_leaf": 10, "verbose": -1,
    "num_threads": 1, "deterministic": True, "learning_rate": 1.0, "feature_fraction": 0.5,
    "bagging_fraction": 0.7, "bagging_freq": 1, "min_sum_hessian_in_leaf": 0.0,
    "lambda_l2": 1e-9,
}  # fmt: skip
BINS = {"feature_pre_filter": False, "min_data_in_bin": 1, "verbose": -1}
LEAST_SPREAD = 0.01
"""Standard deviation of a graph's times over the original's below which they are mostly noise."""
CLIPPED, ROBUST = 3.0, 1.5
"""Spreads from the mean beyond which a label, and an error, count no more."""
HALF = COLUMNS.index("is_half")
LAUNCH = 2e-6


@dataclass(frozen=True)
class CallRoofline:
    """Rates of a device, to weigh calls against each other; the trees correct them."""

    bytes: float
    operations: float
    half_operations: float


ROOFLINES = {"cuda": CallRoofline(3e12, 4e13, 4e14), "cpu": CallRoofline(2e10, 1e11, 1e11)}


@dataclass(frozen=True)
class CallSums:
    """Layouts of several graphs as sums over distinct calls, in roofline seconds."""

    features: Floats
    layout: Ints
    call: Ints
    weight: Floats
    """Roofline seconds of a call in a layout, less the original's, over the original's time."""
    graph: Ints
    """Number of each layout's graph."""

    def total(self, factors: Floats) -> Floats:
        """Return the predicted time of each layout over the original's, less 1."""
        products = self.weight * factors[self.call]
        return _sums(self.layout, products, len(self.graph))

    def by_leaf(self, leaf: Ints, leaves: int) -> Floats:
        """Return how much of each leaf a layout adds up to."""
        places = self.layout * leaves + leaf[self.call]
        sums = _sums(places, self.weight, len(self.graph) * leaves)
        return sums.reshape(-1, leaves)

    def center(self, values: Floats) -> Floats:
        """Subtract the mean of each graph."""
        count = np.bincount(self.graph)
        columns = values.reshape(len(values), -1)
        means = np.stack([np.bincount(self.graph, one) / count for one in columns.T], axis=1)
        return values - means[self.graph].reshape(values.shape)


def sum_calls(graphs: Sequence[GraphLayouts]) -> CallSums:
    """Return the layouts of graphs as sums; calls with equal rows are one."""
    rows = np.concatenate([one.calls.rows for one in graphs])
    distinct, numbers = _distinct(rows)
    layouts = np.cumsum([0, *(len(one) for one in graphs)])
    calls = np.cumsum([0, *(len(one.calls.rows) for one in graphs)])
    pieces = list(zip(graphs, layouts, calls, strict=False))
    weight = [
        one.calls.count * roofline_seconds(one)[one.calls.call] / one.seconds[one.calls.layout]
        for one in graphs
    ]
    return CallSums(
        distinct[:, : len(COLUMNS)],
        np.concatenate([one.calls.layout + first for one, first, _ in pieces]),
        np.concatenate([numbers[one.calls.call + first] for one, _, first in pieces]),
        np.concatenate(weight),
        np.repeat(np.arange(len(graphs)), [len(one) for one in graphs]),
    )


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows, and the number of each row among them."""
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * 8))).reshape(-1)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], numbers.reshape(-1)


def roofline_seconds(graph: GraphLayouts) -> Floats:
    """Return the seconds of each call by its bytes and operations."""
    rates, calls = ROOFLINES.get(graph.device, ROOFLINES["cuda"]), graph.calls
    half = calls.features[:, HALF] > 0
    peak = np.where(half, rates.half_operations, rates.operations)
    return np.asarray(LAUNCH + calls.moved / rates.bytes + calls.operations / peak)


class RowTrees(Protocol):
    """Trees over rows of features."""

    def predict(self, rows: Floats, /) -> Floats:
        """Return the sum of the leaves of each row."""
        ...


@dataclass(frozen=True)
class SolvedTrees:
    """Trees whose structure is LightGBM's, and whose leaves have values that were solved for."""

    booster: Any
    values: Floats
    """A row of values for each tree."""

    def predict(self, rows: Floats, /) -> Floats:
        """Return the sum of the values of each row's leaves."""
        trees = len(self.values)
        if not trees:
            return np.zeros(len(rows))
        leaf = self.booster.predict(rows, pred_leaf=True, num_iteration=trees)
        leaf = leaf.astype(np.int64).reshape(len(rows), trees)
        return np.asarray(self.values[np.arange(trees), leaf].sum(axis=1))


@dataclass
class CallTrees:
    """Trees over calls: they give the factor of each call's roofline seconds."""

    trees: RowTrees
    start: float
    """The factor of every call before the first tree."""

    def predict(self, graph: GraphLayouts) -> Floats:
        """Return the time of each layout over the original's, less 1, up to a constant."""
        if not len(graph.calls.count):
            return np.zeros(len(graph))
        sums = sum_calls([graph])
        return sums.total(self.start + self.trees.predict(sums.features))


def fit_call_trees(
    graphs: Sequence[GraphLayouts], seed: int = 0, rounds: int = ROUNDS
) -> CallTrees:
    """Learn from graphs with labels and calls."""
    import lightgbm

    graphs = [one for one in graphs if len(one.calls.count)]
    sums = sum_calls(graphs)
    times = np.expm1(np.concatenate([one.labels for one in graphs]))
    spread = np.array([max(np.expm1(one.labels).std(), LEAST_SPREAD) for one in graphs])
    spread = spread[sums.graph]
    weight = 1 / (spread**2 * np.bincount(sums.graph)[sums.graph])
    wanted = np.clip(sums.center(times) / spread, -CLIPPED, CLIPPED) * spread
    factors = np.ones(len(sums.features))
    predicted = sums.center(sums.total(factors))
    start = max(0.05, float(weight * predicted @ wanted / (weight * predicted @ predicted)))
    predicted *= start
    data = lightgbm.Dataset(sums.features, np.zeros(len(factors)), params=BINS)
    booster = lightgbm.Booster({**SETTINGS, "seed": seed}, data)
    curvature = _curvature(sums, weight)
    values = []
    for number in range(rounds):
        error = weight * np.clip(predicted - wanted, -ROBUST * spread, ROBUST * spread)
        pull = sums.weight * sums.center(error)[sums.layout]
        slope = _sums(sums.call, pull, len(factors))
        booster.update(fobj=lambda *_, slope=slope: (slope, curvature))
        if booster.current_iteration() <= number:  # too few calls to split
            break
        leaf = np.asarray(
            booster.predict(sums.features, pred_leaf=True, start_iteration=number, num_iteration=1)
        )
        amounts = sums.center(sums.by_leaf(leaf.reshape(-1).astype(np.int64), LEAVES))
        values.append(RATE * _solve(amounts, weight, error))
        predicted += amounts @ values[-1]
    return CallTrees(SolvedTrees(booster, np.array(values).reshape(-1, LEAVES)), start)


def _curvature(sums: CallSums, weight: Floats) -> Floats:
    """Return a bound of the second derivative by each call's factor."""
    size = np.abs(sums.weight)
    total = _sums(sums.layout, size, len(sums.graph))
    return _sums(sums.call, size * (weight * total)[sums.layout], len(sums.features))


def _sums(places: Ints, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each place."""
    return np.asarray(np.bincount(places, values, minlength=size), np.float64)


def _solve(amounts: Floats, weight: Floats, error: Floats) -> Floats:
    """Return the values of leaves that reduce the error most, held back by a ridge."""
    square = amounts.T @ (weight[:, None] * amounts)
    ridge = RIDGE * np.trace(square) / len(square) + 1e-9
    return np.linalg.solve(square + ridge * np.eye(len(square)), -amounts.T @ error)
