"""What is known of a graph before it is measured, and how much of that tells its score."""

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
"""Directions of the operators' table that are kept: the largest ones."""
STIFFNESS = 10.0
"""Of the regression from features to scores, in samples' worth."""
EMPHASIS = 3.0
"""How many features the predicted score is worth when graphs are grouped."""


def features(rows: Sequence[Mapping[str, Any]]) -> Floats:
    """A row for each graph, from columns of a pack alone: sizes, kinds, operators.

    Sizes count by their order of magnitude, an operator by how few graphs have it. Each of the
    three groups weighs the same, whatever the number of its columns.
    """
    sizes = np.log1p(np.array([[float(row[name]) for name in SIZES] for row in rows]))
    kinds = np.hstack([_one_hot([str(row[name]) for row in rows]) for name in KINDS])
    return np.hstack([_balanced(group) for group in (sizes, kinds, _operators(rows))])


def _one_hot(words: Sequence[str]) -> Floats:
    _, places = np.unique(words, return_inverse=True)
    return np.asarray(np.eye(int(places.max()) + 1)[places], np.float64)


def _operators(rows: Sequence[Mapping[str, Any]]) -> Floats:
    """Which operators a graph has, in the few directions that differ most."""
    seen = Counter(name for row in rows for name in set(row["operators"]))
    place = {name: number for number, name in enumerate(sorted(seen))}
    table = np.zeros((len(rows), max(len(place), 1)))
    for number, row in enumerate(rows):
        for name in row["operators"]:
            table[number, place[name]] = np.log(len(rows) / seen[name]) + 1e-3
    table -= table.mean(axis=0)
    left, sizes, _ = np.linalg.svd(table, full_matrices=False)
    return np.asarray(left[:, :DIRECTIONS] * sizes[:DIRECTIONS], np.float64)


def _balanced(group: Floats) -> Floats:
    centred = group - group.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / spread if spread > 0 else centred, np.float64)


def values_of(samples: ScoredGraphs, parameters: Parameters = Parameters()) -> Floats:  # noqa: B008
    """What each graph adds to the aggregate: its share of Σ w_t·log10 ES(t).

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
        """What the features say of the scores."""
        return np.asarray(table @ self.slopes + self.constant, np.float64)

    def emphasised(self, table: Floats) -> Floats:
        """The features with the predicted score among them, as heavy as several."""
        predicted = _balanced(self.predict(table)[:, None])
        return np.hstack([table, EMPHASIS * predicted])


def learn(table: Floats, values: Floats) -> Relevance:
    """The regression on graphs that were measured."""
    constant = float(values.mean())
    centre = table.mean(axis=0)
    centred = table - centre
    square = centred.T @ centred + STIFFNESS * np.eye(table.shape[1])
    slopes = np.linalg.solve(square, centred.T @ (values - constant))
    return Relevance(np.asarray(slopes), constant - float(centre @ slopes))
