"""Who is better, and who is not told apart: pairs of compilers on the graphs both have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graph_net.score.aggregate import graphnet_aggregate
from graph_net.score.confidence import CONFIDENCE, Bounds, bounds, drawn_curves
from graph_net.score.samples import Samples
from graph_net.score.scores import Curves, Parameters, curves_of, sums_of

DRAWS = 2000
"""Enough for the smallest p-value to outlast a correction for some forty pairs."""


@dataclass(frozen=True)
class Pair:
    """Two curves on the graphs both have: the ratio of their mean scores and whether it is sure.

    ``ratio`` is 10^(difference of GraphNet's aggregates): how many times better the first is.
    """

    first: str
    second: str
    graphs: int
    families: int
    ratio: Bounds
    p_value: float
    apart: bool


@dataclass(frozen=True)
class Ranking:
    """The curves from best to worst, and every pair of them."""

    order: tuple[str, ...]
    pairs: tuple[Pair, ...]

    def pair(self, first: str, second: str) -> Pair:
        """The pair of two names, in whichever order it is held."""
        return next(pair for pair in self.pairs if {pair.first, pair.second} == {first, second})


def rank(
    curves: Mapping[str, Samples],
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """The curves by GraphNet's aggregate, and which pairs are told apart.

    A pair is resampled together, by family, so that what is hard for both does not count as a
    difference. The p-values of all pairs are corrected together (Holm).
    """
    level = {
        name: float(graphnet_aggregate(_total(samples, parameters))[0])
        for name, samples in curves.items()
    }
    order = sorted(curves, key=lambda name: -level[name])
    raw = [
        _pair(first, second, curves, parameters, confidence, draws, seed)
        for first, second in combinations(order, 2)
    ]
    surely = _holm([pair.p_value for pair in raw], 1 - confidence)
    pairs = tuple(
        Pair(p.first, p.second, p.graphs, p.families, p.ratio, p.p_value, sure)
        for p, sure in zip(raw, surely, strict=True)
    )
    return Ranking(tuple(order), pairs)


def _total(samples: Samples, parameters: Parameters) -> Curves:
    return curves_of(sums_of(samples, interpretation=parameters.interpretation).total(), parameters)


def _pair(
    first: str,
    second: str,
    curves: Mapping[str, Samples],
    parameters: Parameters,
    confidence: float,
    draws: int,
    seed: int,
) -> Pair:
    a, b = common(curves[first], curves[second])
    if not len(a):
        return Pair(first, second, 0, 0, Bounds(1.0, 0.0, np.inf), 1.0, False)
    # The same families, so the same seed draws the same ones for both.
    families, places = np.unique(a.family, return_inverse=True)
    both = [_with_family(each, places) for each in (a, b)]
    sums = [sums_of(each, interpretation=parameters.interpretation) for each in both]
    points = [graphnet_aggregate(curves_of(each.total(), parameters)) for each in sums]
    drawn = [graphnet_aggregate(drawn_curves(each, parameters, draws, seed)) for each in sums]
    difference = drawn[0] - drawn[1]
    beyond = min(int((difference <= 0).sum()), int((difference >= 0).sum()))
    ratio = bounds(float(10 ** (points[0] - points[1])[0]), 10**difference, confidence)
    # Were both alike, so few families would all point one way that often by chance alone.
    chance = 2.0 ** (1 - len(families))
    p_value = min(1.0, max(2 * (beyond + 1) / (draws + 1), chance))
    return Pair(first, second, len(a), len(families), ratio, p_value, False)


def common(first: Samples, second: Samples) -> tuple[Samples, Samples]:
    """The samples of the graphs that both have, in the same order."""
    mine, theirs = pa.array(first.graph), pa.array(second.graph)
    found = pc.index_in(mine, value_set=theirs)
    held = np.asarray(found.is_valid())
    positions = np.asarray(found.drop_null(), dtype=np.int64)
    return first.take(held), second.take(positions)


def _with_family(samples: Samples, places: npt.NDArray[Any]) -> Samples:
    return replace(samples, family=places.astype(np.int64))


def _holm(p_values: list[float], alpha: float) -> list[bool]:
    """Which hypotheses fall when all are tested together, by Holm's step-down rule."""
    held = [False] * len(p_values)
    for step, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > alpha / (len(p_values) - step):
            break
        held[place] = True
    return held
