"""Features of graphs before they are measured, and how they predict scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graph_net.score import Parameters, ScoredGraphs
from graph_net.score.aggregate import GRAPHNET
from graph_net.score.samples import Floats
from graph_net.score.scores import LADDER, curves_of, sums_of

SIZES = ("nodes", "inputs", "parameters", "tensor_bytes")
KINDS = ("category", "library")
DIRECTIONS = 32
"""Singular directions of the table of operators that are kept, the largest."""
STIFFNESS = 10.0
"""The ridge of the regression from features to scores, in samples."""
EMPHASIS = 3.0
"""The weight of the predicted score beside the features."""


def features_of(rows: Sequence[Mapping[str, Any]]) -> Floats:
    """Return a row per graph from columns of a pack alone: sizes, kinds, operators.

    Sizes count by their order of magnitude, an operator by its rarity. The three groups have the
    same weight, whatever the number of their columns.
    """
    sizes = np.log1p(np.array([[float(row[name]) for name in SIZES] for row in rows]))
    kinds = np.hstack([_one_hot([str(row[name]) for row in rows]) for name in KINDS])
    return np.hstack([_balance(group) for group in (sizes, kinds, _operators(rows))])


def _one_hot(names: Sequence[str]) -> Floats:
    _, codes = np.unique(names, return_inverse=True)
    return np.asarray(np.eye(int(codes.max()) + 1)[codes], np.float64)


def _operators(rows: Sequence[Mapping[str, Any]]) -> Floats:
    """Return which operators a graph has, in the directions of largest variance."""
    counts = Counter(name for row in rows for name in set(row["operators"]))
    column = {name: index for index, name in enumerate(sorted(counts))}
    table = np.zeros((len(rows), max(len(column), 1)))
    for index, row in enumerate(rows):
        for name in row["operators"]:
            table[index, column[name]] = np.log(len(rows) / counts[name]) + 1e-3
    table -= table.mean(axis=0)
    left, sizes, _ = np.linalg.svd(table, full_matrices=False)
    return np.asarray(left[:, :DIRECTIONS] * sizes[:DIRECTIONS], np.float64)


def _balance(group: Floats) -> Floats:
    centred = group - group.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / spread if spread > 0 else centred, np.float64)


def values_of(samples: ScoredGraphs, parameters: Parameters = Parameters()) -> Floats:  # noqa: B008
    """Return what each graph adds to the aggregate: its share of Σ w_t·log10 ES(t).

    ES(t) is a geometric mean over graphs, so the aggregate of many is the mean of these numbers.
    """
    alone = samples.alone()
    curves = curves_of(sums_of(alone, LADDER, parameters.interpretation), parameters)
    return np.asarray(np.log10(curves.es) @ GRAPHNET, np.float64)


@dataclass(frozen=True)
class Relevance:
    """A ridge regression from features to scores."""

    slopes: Floats
    constant: float

    def predict(self, table: Floats) -> Floats:
        """Return the predicted scores."""
        return np.asarray(table @ self.slopes + self.constant, np.float64)

    def emphasise(self, table: Floats) -> Floats:
        """Return the features with the predicted score added, at ``EMPHASIS``."""
        predicted = _balance(self.predict(table)[:, None])
        return np.hstack([table, EMPHASIS * predicted])


def learn(table: Floats, values: Floats) -> Relevance:
    """Fit the regression on measured graphs."""
    constant = float(values.mean())
    centre = table.mean(axis=0)
    centred = table - centre
    square = centred.T @ centred + STIFFNESS * np.eye(table.shape[1])
    slopes = np.linalg.solve(square, centred.T @ (values - constant))
    return Relevance(np.asarray(slopes), constant - float(centre @ slopes))
