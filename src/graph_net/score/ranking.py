"""Who is better: pairs of compilers on the graphs both have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graph_net.score.aggregate import GRAPHNET, graphnet_aggregate
from graph_net.score.confidence import CONFIDENCE, Bounds, bounds, draw
from graph_net.score.samples import Floats, ScoredGraphs
from graph_net.score.scores import Curves, Parameters, curves_of, sums_of
from graph_net.score.student_t import stretch

DRAWS = 2000
"""Enough for the smallest p-value to outlast a correction for some forty pairs."""


@dataclass(frozen=True)
class Pair:
    """Two curves on the graphs both have: the ratio of their mean scores and whether it is sure.

    ``ratio`` is 10^(difference of GraphNet's aggregates): how many times better the first is. Its
    interval is the one that the pair was tested by, so ``apart`` says that 1 lies outside of it.
    """

    first: str
    second: str
    graphs: int
    families: int
    ratio: Bounds
    p_value: float

    @property
    def apart(self) -> bool:
        """Whether the first is better, beyond doubt."""
        return self.graphs > 0 and not self.ratio.holds_one


@dataclass(frozen=True)
class Ranking:
    """The curves from best to worst, and every pair of them."""

    order: tuple[str, ...]
    pairs: tuple[Pair, ...]

    def pair(self, first: str, second: str) -> Pair:
        """The pair of two names, in whichever order it is held."""
        return next(pair for pair in self.pairs if {pair.first, pair.second} == {first, second})


def rank(
    curves: Mapping[str, ScoredGraphs],
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """The curves by GraphNet's aggregate, and which pairs differ significantly.

    A pair is resampled together, by family, so that what is hard for both does not count as a
    difference. All pairs are tested together (Holm), and the interval of each has the confidence
    that its test asked for: one definition, so that verdicts and intervals cannot disagree.
    """
    level = {
        name: float(graphnet_aggregate(_total(samples, parameters))[0])
        for name, samples in curves.items()
    }
    order = sorted(curves, key=lambda name: -level[name])
    found = {
        (first, second): _difference(curves[first], curves[second], parameters, draws, seed)
        for first, second in combinations(order, 2)
    }
    p_values = [1.0 if each is None else each.p_value for each in found.values()]
    alphas = _holm(p_values, 1 - confidence)
    pairs = [
        _pair(*names, each, p, alpha)
        for (names, each), p, alpha in zip(found.items(), p_values, alphas, strict=True)
    ]
    return Ranking(tuple(order), tuple(pairs))


def _total(samples: ScoredGraphs, parameters: Parameters) -> Curves:
    return curves_of(sums_of(samples, interpretation=parameters.interpretation).total(), parameters)


@dataclass(frozen=True)
class Difference:
    """A difference of two aggregates: its value, draws of families, and what measuring adds."""

    graphs: int
    families: int
    value: float
    draws: Floats
    noise: Floats

    def interval(self, alpha: float) -> Bounds:
        """The value with the interval that misses the truth with this probability."""
        factor = stretch(self.families, 1 - alpha)
        spread = self.value + factor * (self.draws - self.value) + self.noise
        return bounds(self.value, spread, 1 - alpha)

    @cached_property
    def p_value(self) -> float:
        """The smallest probability of error whose interval excludes 0; draws limit how small."""
        least, most = 2 / (len(self.draws) + 1), 0.999
        if not self._excludes_zero(most):
            return 1.0
        for _ in range(40):
            middle = math.sqrt(least * most)
            least, most = (least, middle) if self._excludes_zero(middle) else (middle, most)
        return most

    def _excludes_zero(self, alpha: float) -> bool:
        found = self.interval(alpha)
        return not found.low <= 0 <= found.high


def _difference(
    first: ScoredGraphs, second: ScoredGraphs, parameters: Parameters, draws: int, seed: int
) -> Difference | None:
    """The difference of two curves on the graphs that both have; None where there are none."""
    a, b = common(first, second)
    if not len(a):
        return None
    # The same families, so the same seed draws the same ones for both.
    families, places = np.unique(a.family, return_inverse=True)
    both = [
        draw(_with_family(each, places), parameters, draws=draws, seed=seed, stream=stream)
        for stream, each in enumerate((a, b))
    ]
    values, drawn = (
        graphnet_aggregate(one) - graphnet_aggregate(other)
        for one, other in zip(*((each.point, each.draws) for each in both), strict=True)
    )
    noise = (both[0].noise - both[1].noise) @ GRAPHNET / math.log(10)
    return Difference(len(a), len(families), float(values[0]), drawn, noise)


def _pair(first: str, second: str, found: Difference | None, p_value: float, alpha: float) -> Pair:
    if found is None:
        return Pair(first, second, 0, 0, Bounds(1.0, 0.0, math.inf), p_value)
    at = found.interval(alpha)
    ratio = Bounds(10**at.value, 10**at.low, 10**at.high)
    return Pair(first, second, found.graphs, found.families, ratio, p_value)


def common(first: ScoredGraphs, second: ScoredGraphs) -> tuple[ScoredGraphs, ScoredGraphs]:
    """The samples of the graphs that both have, in the same order."""
    mine, theirs = pa.array(first.graph), pa.array(second.graph)
    found = pc.index_in(mine, value_set=theirs)
    held = np.asarray(found.is_valid())
    positions = np.asarray(found.drop_null(), dtype=np.int64)
    return first.take(held), second.take(positions)


def _with_family(samples: ScoredGraphs, places: npt.NDArray[Any]) -> ScoredGraphs:
    return replace(samples, family=places.astype(np.int64))


def _holm(p_values: Sequence[float], alpha: float) -> list[float]:
    """The probability of error that each hypothesis is tested at, by Holm's step-down rule.

    From the first that stands on, all are tested at its level, which none of them reaches.
    """
    levels = [alpha] * len(p_values)
    level, standing = alpha, False
    for step, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if not standing:
            level = alpha / (len(p_values) - step)
        standing = standing or p_values[place] > level
        levels[place] = level
    return levels
