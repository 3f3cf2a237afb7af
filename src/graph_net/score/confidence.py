"""Intervals of scores: from the choice of graphs, from each measurement, and from the control.

Three things make a score unsure, and every draw has all three: which model families were measured
(a bootstrap that draws whole families, since their members are alike), how far each measurement may
be off (the doubt in its own record), and what moved all measurements of a run alike, of which
eager's own score shows the size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from graph_net.score.aggregate import graphnet_aggregate, passbench_aggregate
from graph_net.score.samples import SLACK, Floats, ScoredGraphs
from graph_net.score.scores import (
    FROZEN_FROM,
    LADDER,
    Curves,
    Parameters,
    Sums,
    curves_of,
    sums_of,
)
from graph_net.score.student_t import stretch

DRAWS = 1000
CONFIDENCE = 0.95
FEW_FAMILIES = 10
"""With fewer of them, a failure that one in ten has may well be missing from all."""
_CELLS = 1 << 22
"""So many weights are held at a time."""
_SHARES = ("correct_share", "slower_share")
"""Curves that are shares; the others are ratios, and spread like their logarithms."""

_AT_MOST_ONE = ("beta", "gamma")


@dataclass(frozen=True)
class Bounds:
    """A number with its interval."""

    value: float
    low: float
    high: float

    @property
    def holds_one(self) -> bool:
        """Whether 1 lies within."""
        return self.low <= 1 <= self.high


@dataclass(frozen=True)
class Estimate:
    """The scores of one curve with intervals; ``low`` and ``high`` are arrays like ``curves``."""

    curves: Curves
    low: Curves
    high: Curves
    graphnet: Bounds | None
    passbench: Bounds | None
    samples: int
    families: int
    confidence: float

    def at(self, name: str, t: float) -> Bounds:
        """One score (``s``, ``es``, ``alpha``, …) at one of the levels."""
        place = int(np.flatnonzero(np.isclose(self.curves.ts, t))[0])
        value, low, high = (
            float(getattr(c, name)[0, place]) for c in (self.curves, self.low, self.high)
        )
        return Bounds(value, min(low, value), max(high, value))

    @property
    def alone(self) -> bool:
        """Whether there is one family: the interval is that of measuring, not of choosing."""
        return self.families == 1

    @property
    def uncertain(self) -> bool:
        """Whether there are so few families that rare failures may be in none of them."""
        return self.families < FEW_FAMILIES


def draw_weights(clusters: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each cluster is drawn, with replacement: rows of weights, some draws at a time."""
    random = np.random.default_rng(seed)
    at_once = max(1, min(draws, _CELLS // max(clusters, 1)))
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        drawn = random.integers(0, clusters, (rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters)
        yield counts.reshape(rows, clusters).astype(np.float64)


def drawn_curves(sums: Sums, parameters: Parameters, draws: int, seed: int) -> Curves:
    """The curves of every draw of families, one row each."""
    present = sums.count[:, 0] > 0
    parts = {name: getattr(sums, name)[present] for name in _SUMMED}
    held = Sums(sums.ts, **parts)
    found = [
        curves_of(held.weighted(weights), parameters)
        for weights in draw_weights(int(present.sum()), draws, seed)
    ]
    return _map(lambda *rows: np.concatenate(rows), *found)


@dataclass(frozen=True)
class Drawn:
    """The curves of some samples, the curves of draws of families, and what measuring adds.

    The latter is added to logarithms, for each draw and t: ``noise`` to those of S and ES,
    ``alpha_noise`` to that of α. Which samples are slower than eager is not drawn again, so β and η
    have the doubt of the choice alone.
    """

    point: Curves
    draws: Curves
    families: int
    noise: Floats
    alpha_noise: Floats

    def spread(self, confidence: float) -> Curves:
        """The draws, spread as widely as an interval of this confidence needs."""
        factor = stretch(self.families, confidence)
        noise = {"s": self.noise, "es": self.noise, "alpha": self.alpha_noise}
        made: dict[str, Floats] = {}
        for name in _CURVES:
            point, rows = getattr(self.point, name), getattr(self.draws, name)
            if name in _SHARES:
                made[name] = np.clip(point + factor * (rows - point), 0.0, 1.0)
            else:
                logs = np.log(point) + factor * np.log(rows / point)
                made[name] = np.exp(logs + noise.get(name, 0.0))
            if name in _AT_MOST_ONE:
                made[name] = np.minimum(made[name], 1.0)
        return Curves(self.point.ts, **made)


def draw(
    samples: ScoredGraphs,
    parameters: Parameters,
    ts: Sequence[float] | Floats = LADDER,
    draws: int = DRAWS,
    seed: int = 0,
    stream: int = 0,
) -> Drawn:
    """Draws of samples; of two curves with one seed the families are the same, and the errors of
    measuring are not if their ``stream`` differs."""
    sums = sums_of(samples, ts, parameters.interpretation)
    total = sums.total()
    point = curves_of(total, parameters)
    random = np.random.default_rng([seed, 1, stream])
    normal = random.standard_normal((draws, 1 + len(point.ts)))
    common = normal[:, :1] * offset_of(samples)
    count = np.maximum(total.timed, 1.0)
    slow = samples.log_speedup < 0
    own, all_own = (
        errors(samples, point.ts, gains, normal[:, 1:]) / count
        for gains in (np.ones(len(samples)), 1 + parameters.p * slow.astype(np.float64))
    )
    both = point.correct_share * (all_own + common * (1 + parameters.p * point.slower_share))
    families = int((sums.count[:, 0] > 0).sum())
    drawn = drawn_curves(sums, parameters, draws, seed)
    return Drawn(point, drawn, families, both, own + common)


def errors(samples: ScoredGraphs, ts: Floats, gains: Floats, normal: Floats) -> Floats:
    """The sum of what measuring adds to the correct at each t, for each row of normal numbers.

    What is correct at t is so at every larger one: its error stays the same.
    """
    reached, back = np.unique(np.minimum(ts, FROZEN_FROM), return_inverse=True)
    place = np.searchsorted(reached, samples.t - SLACK)
    held = samples.timed & (place < len(reached))
    variances = np.square(gains * samples.doubt)[held]
    spread = np.sqrt(np.bincount(place[held], variances, len(reached)))
    return np.asarray(np.cumsum(normal[:, : len(reached)] * spread, axis=1)[:, back], np.float64)


def offset_of(samples: ScoredGraphs) -> float:
    """How far eager's own score is from 1, as a logarithm: what moves a whole run alike."""
    control = samples.log_control[samples.timed & np.isfinite(samples.log_control)]
    return abs(float(control.mean())) if len(control) else 0.0


def estimate(
    samples: ScoredGraphs,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    ts: Sequence[float] | Floats = LADDER,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Estimate:
    """The scores of samples with intervals that hold all three kinds of doubt.

    The aggregates are there where ``ts`` has every whole t from -10 to 4.
    """
    found = draw(samples, parameters, ts, draws, seed)
    curves, spread = found.point, found.spread(confidence)
    tail = (1 - confidence) / 2
    low, high = (
        _map(lambda rows, share=share: np.quantile(rows, share, axis=0, keepdims=True), spread)
        for share in (tail, 1 - tail)
    )
    aggregates: list[Bounds | None] = [None, None]
    if np.isin(LADDER, curves.ts).all():
        aggregates = [
            bounds(float(of(curves)[0]), of(spread), confidence)
            for of in (graphnet_aggregate, passbench_aggregate)
        ]
    return Estimate(
        curves, low, high, aggregates[0], aggregates[1], len(samples), found.families, confidence
    )


def bounds(value: float, drawn: Floats, confidence: float) -> Bounds:
    """A value with the percentiles of its draws."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Bounds(value, min(float(low), value), max(float(high), value))


_SUMMED = [entry.name for entry in fields(Sums) if entry.name != "ts"]
_CURVES = [entry.name for entry in fields(Curves) if entry.name != "ts"]


def _map(change: Any, *curves: Curves) -> Curves:
    """Curves of which every array but the levels is changed."""
    made = {name: change(*(getattr(each, name) for each in curves)) for name in _CURVES}
    return Curves(curves[0].ts, **made)
