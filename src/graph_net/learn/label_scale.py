"""LabelScale: scores as labels, so that RMSE, R² and MAPE mean the same for every model.

A model's scores only rank. On the training programs, the distance of a score from the best of its
task predicts the label: a decreasing curve, stored with the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graph_net.learn.metrics import Floats, TaskCosts

POINTS = 64
"""Most points of the curve."""


@dataclass(frozen=True)
class LabelScale:
    """A decreasing curve from the distance to the task's best score to labels."""

    behind: tuple[float, ...]
    labels: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.labels or len(self.behind) != len(self.labels):
            raise ValueError("a scale has a label for each of its distances, at least one")
        if list(self.behind) != sorted(self.behind):
            raise ValueError("the distances of a scale ascend")

    @staticmethod
    def fit(programs: TaskCosts, scores: Floats) -> LabelScale:
        """Return the curve that best fits the labels of programs, over bins of equal size."""
        behind = _behind(programs, scores)
        order = np.argsort(behind, kind="stable")
        parts = np.array_split(order, min(POINTS, order.size))
        xs = np.array([behind[part].mean() for part in parts])
        sizes = np.array([part.size for part in parts], np.float64)
        means = np.array([programs.labels[part].mean() for part in parts])
        return LabelScale(tuple(xs.tolist()), tuple(_falling(means, sizes).tolist()))

    def predict(self, programs: TaskCosts, scores: Floats) -> Floats:
        """Return the expected label of each program."""
        return np.interp(_behind(programs, scores), self.behind, self.labels)


def _behind(programs: TaskCosts, scores: Floats) -> Floats:
    best = np.full(programs.count, -np.inf)
    np.maximum.at(best, programs.tasks, scores)
    return np.asarray(best[programs.tasks] - scores)


def _falling(values: Floats, sizes: Floats) -> Floats:
    """Return the nearest decreasing sequence, by pooling rising neighbours (isotonic)."""
    pools: list[tuple[float, float, int]] = []
    for value, size in zip(values.tolist(), sizes.tolist(), strict=True):
        pools.append((value, size, 1))
        while len(pools) > 1 and pools[-1][0] > pools[-2][0]:
            (one, weight, count), (other, more, number) = pools.pop(), pools.pop()
            total = weight + more
            pools.append(((one * weight + other * more) / total, total, count + number))
    return np.concatenate([np.full(count, value) for value, _, count in pools])
