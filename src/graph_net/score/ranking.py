"""Rank compilers by pairs, on the graphs both have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graph_net.results import Interval
from graph_net.score.aggregate import GRAPHNET, graphnet_aggregate
from graph_net.score.confidence import CONFIDENCE, draw, interval_of
from graph_net.score.samples import Floats, ScoredGraphs
from graph_net.score.scores import Parameters, score
from graph_net.score.student_t import stretch_factor

DRAWS = 2000
"""Enough for the smallest p-value to outlast a correction for some forty pairs."""


@dataclass(frozen=True)
class Pair:
    """Two curves on the graphs both have: the ratio of their mean scores with its interval.

    ``ratio`` is 10^(difference of GraphNet's aggregates): how many times better the first is. Its
    interval is the one that the pair was tested by: ``significant`` if 1 lies outside of it.
    """

    first: str
    second: str
    graphs: int
    families: int
    ratio: Interval
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the first is significantly better."""
        return self.graphs > 0 and not self.ratio.contains(1)


@dataclass(frozen=True)
class Ranking:
    """The curves from best to worst, and every pair of them."""

    order: tuple[str, ...]
    pairs: tuple[Pair, ...]

    def pair(self, first: str, second: str) -> Pair:
        """Return the pair of two names, in either order."""
        return next(pair for pair in self.pairs if {pair.first, pair.second} == {first, second})


def rank(
    curves: Mapping[str, ScoredGraphs],
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank curves by GraphNet's aggregate and test which pairs differ significantly.

    A pair is resampled together, by family, so that what is hard for both does not count as a
    difference. All pairs are tested together (Holm), and the interval of each has the confidence
    that its test asked for: one definition, so that verdicts and intervals cannot disagree.
    """
    aggregates = {
        name: float(graphnet_aggregate(score(samples, parameters))[0])
        for name, samples in curves.items()
    }
    order = sorted(curves, key=lambda name: -aggregates[name])
    differences = {
        (first, second): _difference(curves[first], curves[second], parameters, draws, seed)
        for first, second in combinations(order, 2)
    }
    p_values = [1.0 if value is None else value.p_value for value in differences.values()]
    alphas = _holm(p_values, 1 - confidence)
    pairs = [
        _pair(*names, difference, p, alpha)
        for (names, difference), p, alpha in zip(differences.items(), p_values, alphas, strict=True)
    ]
    return Ranking(tuple(order), tuple(pairs))


@dataclass(frozen=True)
class Difference:
    """A difference of two aggregates: its value, draws of families, and the noise of measuring."""

    graphs: int
    families: int
    value: float
    draws: Floats
    noise: Floats

    def interval(self, alpha: float) -> Interval:
        """Return the interval that misses the truth with probability ``alpha``."""
        factor = stretch_factor(self.families, 1 - alpha)
        spread = self.value + factor * (self.draws - self.value) + self.noise
        return interval_of(self.value, spread, 1 - alpha)

    @cached_property
    def p_value(self) -> float:
        """The smallest probability of error whose interval excludes 0; draws limit how small."""
        least, most = 2 / (len(self.draws) + 1), 0.999
        if self.interval(most).contains(0):
            return 1.0
        for _ in range(40):
            middle = math.sqrt(least * most)
            excluded = not self.interval(middle).contains(0)
            least, most = (least, middle) if excluded else (middle, most)
        return most


def _difference(
    first: ScoredGraphs, second: ScoredGraphs, parameters: Parameters, draws: int, seed: int
) -> Difference | None:
    """Return the difference of two curves on their common graphs; None if they have none."""
    a, b = common(first, second)
    if not len(a):
        return None
    # The same families, so the same seed draws the same ones for both.
    families, family = np.unique(a.family, return_inverse=True)
    both = [
        draw(
            replace(samples, family=family.astype(np.int64)),
            parameters,
            draws=draws,
            seed=seed,
            stream=stream,
        )
        for stream, samples in enumerate((a, b))
    ]
    values, differences = (
        graphnet_aggregate(left) - graphnet_aggregate(right)
        for left, right in zip(*((drawn.point, drawn.draws) for drawn in both), strict=True)
    )
    noise = (both[0].noise - both[1].noise) @ GRAPHNET / math.log(10)
    return Difference(len(a), len(families), float(values[0]), differences, noise)


def _pair(
    first: str, second: str, difference: Difference | None, p_value: float, alpha: float
) -> Pair:
    if difference is None:
        return Pair(first, second, 0, 0, Interval(1.0, 0.0, math.inf), p_value)
    logs = difference.interval(alpha)
    ratio = Interval(10**logs.value, 10**logs.low, 10**logs.high)
    return Pair(first, second, difference.graphs, difference.families, ratio, p_value)


def common(first: ScoredGraphs, second: ScoredGraphs) -> tuple[ScoredGraphs, ScoredGraphs]:
    """Return the samples of the graphs that both have, in the same order."""
    positions = pc.index_in(pa.array(first.graph), value_set=pa.array(second.graph))
    rows = np.asarray(positions.drop_null(), dtype=np.int64)
    return first.take(np.asarray(positions.is_valid())), second.take(rows)


def _holm(p_values: Sequence[float], alpha: float) -> list[float]:
    """Return the level each hypothesis is tested at, by Holm's step-down rule.

    From the first that is not rejected on, all are tested at its level, which none reaches.
    """
    levels = [alpha] * len(p_values)
    level, accepted = alpha, False
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if not accepted:
            level = alpha / (len(p_values) - step)
        accepted = accepted or p_values[index] > level
        levels[index] = level
    return levels
