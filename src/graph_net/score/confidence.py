"""Confidence intervals of scores.

Every draw has three sources of uncertainty: which model families were measured (a bootstrap over
whole families, since their members are alike), the error of each measurement (from its own record),
and whatever moved all measurements of a run alike, whose size eager's own score shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from graph_net.results import Interval
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
from graph_net.score.student_t import stretch_factor

DRAWS = 1000
CONFIDENCE = 0.95
FEW_FAMILIES = 10
"""With fewer families, a failure that one family in ten has may be missing from the sample."""
_CELLS = 1 << 22
"""Most weights in memory at a time."""
_SHARES = ("correct_share", "slower_share")
"""Curves that are shares; the others are ratios, whose logarithms spread."""
_AT_MOST_ONE = ("beta", "gamma")


@dataclass(frozen=True)
class Estimate:
    """The scores of one curve with intervals; ``low`` and ``high`` are arrays like ``curves``."""

    curves: Curves
    low: Curves
    high: Curves
    graphnet: Interval | None
    passbench: Interval | None
    samples: int
    families: int
    confidence: float

    def at(self, name: str, t: float) -> Interval:
        """Return one score (``s``, ``es``, ``alpha``, …) at one of the levels."""
        index = int(np.flatnonzero(np.isclose(self.curves.ts, t))[0])
        value, low, high = (
            float(getattr(c, name)[0, index]) for c in (self.curves, self.low, self.high)
        )
        return Interval(value, min(low, value), max(high, value))

    @property
    def alone(self) -> bool:
        """Whether there is one family: the interval then covers measurement error only."""
        return self.families == 1

    @property
    def uncertain(self) -> bool:
        """Whether rare failures may be missing because there are few families."""
        return self.families < FEW_FAMILIES


def draw_weights(clusters: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield batches of rows: how often a draw with replacement takes each cluster."""
    random = np.random.default_rng(seed)
    at_once = max(1, min(draws, _CELLS // max(clusters, 1)))
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        drawn = random.integers(0, clusters, (rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters)
        yield counts.reshape(rows, clusters).astype(np.float64)


def _draw_curves(sums: Sums, parameters: Parameters, draws: int, seed: int) -> Curves:
    """Return the curves of every draw of families, one row each."""
    present = sums.count[:, 0] > 0
    held = Sums(sums.ts, **{name: getattr(sums, name)[present] for name in _SUMMED})
    batches = [
        curves_of(held.weighted(weights), parameters)
        for weights in draw_weights(int(present.sum()), draws, seed)
    ]
    return _map(lambda *rows: np.concatenate(rows), *batches)


@dataclass(frozen=True)
class CurveDraws:
    """The curves of samples, those of draws of families, and the noise of measuring.

    Noise is added to logarithms, for each draw and t: ``noise`` to those of S and ES,
    ``alpha_noise`` to that of α. Which samples are slower than eager is not redrawn, so β and η
    have the uncertainty of the choice alone.
    """

    point: Curves
    draws: Curves
    families: int
    noise: Floats
    alpha_noise: Floats

    def spread(self, confidence: float) -> Curves:
        """Return the draws, spread as widely as an interval of this confidence needs."""
        factor = stretch_factor(self.families, confidence)
        noise = {"s": self.noise, "es": self.noise, "alpha": self.alpha_noise}
        spread: dict[str, Floats] = {}
        for name in _CURVES:
            point, rows = getattr(self.point, name), getattr(self.draws, name)
            if name in _SHARES:
                spread[name] = np.clip(point + factor * (rows - point), 0.0, 1.0)
            else:
                logs = np.log(point) + factor * np.log(rows / point)
                spread[name] = np.exp(logs + noise.get(name, 0.0))
            if name in _AT_MOST_ONE:
                spread[name] = np.minimum(spread[name], 1.0)
        return Curves(self.point.ts, **spread)


def draw(
    samples: ScoredGraphs,
    parameters: Parameters,
    ts: Sequence[float] | Floats = LADDER,
    draws: int = DRAWS,
    seed: int = 0,
    stream: int = 0,
) -> CurveDraws:
    """Draw families and errors of measuring.

    Two curves with one seed draw the same families, and other errors if ``stream`` differs.
    """
    sums = sums_of(samples, ts, parameters.interpretation)
    total = sums.total()
    point = curves_of(total, parameters)
    random = np.random.default_rng([seed, 1, stream])
    normal = random.standard_normal((draws, 1 + len(point.ts)))
    common = normal[:, :1] * offset_of(samples)
    count = np.maximum(total.timed, 1.0)
    slow = samples.log_speedup < 0
    own, all_own = (
        error_sums(samples, point.ts, gains, normal[:, 1:]) / count
        for gains in (np.ones(len(samples)), 1 + parameters.p * slow.astype(np.float64))
    )
    both = point.correct_share * (all_own + common * (1 + parameters.p * point.slower_share))
    families = int((sums.count[:, 0] > 0).sum())
    drawn = _draw_curves(sums, parameters, draws, seed)
    return CurveDraws(point, drawn, families, both, own + common)


def error_sums(samples: ScoredGraphs, ts: Floats, gains: Floats, normal: Floats) -> Floats:
    """Return the summed errors of correct samples at each t, for each row of normal numbers.

    A sample that is correct at t is so at every larger t, with the same error.
    """
    reached, back = np.unique(np.minimum(ts, FROZEN_FROM), return_inverse=True)
    position = np.searchsorted(reached, samples.t - SLACK)
    held = samples.timed & (position < len(reached))
    variances = np.square(gains * samples.doubt)[held]
    spread = np.sqrt(np.bincount(position[held], variances, len(reached)))
    return np.asarray(np.cumsum(normal[:, : len(reached)] * spread, axis=1)[:, back], np.float64)


def offset_of(samples: ScoredGraphs) -> float:
    """Return the distance of eager's own log score from 0: what moves a whole run alike."""
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
    """Return scores with intervals that cover all three sources of uncertainty.

    The aggregates are None unless ``ts`` has every whole t from -10 to 4.
    """
    drawn = draw(samples, parameters, ts, draws, seed)
    curves, spread = drawn.point, drawn.spread(confidence)
    tail = (1 - confidence) / 2
    low, high = (
        _map(lambda rows, share=share: np.quantile(rows, share, axis=0, keepdims=True), spread)
        for share in (tail, 1 - tail)
    )
    aggregates: list[Interval | None] = [None, None]
    if np.isin(LADDER, curves.ts).all():
        aggregates = [
            interval_of(float(aggregate(curves)[0]), aggregate(spread), confidence)
            for aggregate in (graphnet_aggregate, passbench_aggregate)
        ]
    return Estimate(
        curves, low, high, aggregates[0], aggregates[1], len(samples), drawn.families, confidence
    )


def interval_of(value: float, drawn: Floats, confidence: float) -> Interval:
    """Return a value with the percentiles of its draws."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(value, min(float(low), value), max(float(high), value))


_SUMMED = [entry.name for entry in fields(Sums) if entry.name != "ts"]
_CURVES = [entry.name for entry in fields(Curves) if entry.name != "ts"]


def _map(change: Any, *curves: Curves) -> Curves:
    """Return curves with every array but the levels changed."""
    changed = {name: change(*(getattr(curve, name) for curve in curves)) for name in _CURVES}
    return Curves(curves[0].ts, **changed)
