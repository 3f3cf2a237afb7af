"""Intervals by bootstrap: whole model families are drawn, since their members are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from graph_net.score.aggregate import graphnet_aggregate, passbench_aggregate
from graph_net.score.samples import Floats, Samples
from graph_net.score.scores import LADDER, Curves, Parameters, Sums, curves_of, sums_of

DRAWS = 1000
CONFIDENCE = 0.95
FEW_FAMILIES = 10
"""With fewer clusters than this an interval is narrower than it says."""
_CELLS = 1 << 22
"""So many weights are held at a time."""


@dataclass(frozen=True)
class Bounds:
    """A number with its interval."""

    value: float
    low: float
    high: float


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
    def uncertain(self) -> bool:
        """Whether there are too few families for the intervals to be trusted."""
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
    """The curves of every draw, one row each."""
    present = sums.count[:, 0] > 0
    parts = {name: getattr(sums, name)[present] for name in _SUMMED}
    held = Sums(sums.ts, **parts)
    found = [
        curves_of(held.weighted(weights), parameters)
        for weights in draw_weights(int(present.sum()), draws, seed)
    ]
    return _map(lambda *rows: np.concatenate(rows), *found)


def estimate(
    samples: Samples,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    ts: Sequence[float] | Floats = LADDER,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Estimate:
    """The scores of samples with bootstrap intervals, clustered by family.

    The aggregates are there where ``ts`` has every whole t from -10 to 4.
    """
    sums = sums_of(samples, ts, parameters.interpretation)
    curves = curves_of(sums.total(), parameters)
    drawn = drawn_curves(sums, parameters, draws, seed)
    tail = (1 - confidence) / 2
    low, high = (
        _map(lambda rows, share=share: np.quantile(rows, share, axis=0, keepdims=True), drawn)
        for share in (tail, 1 - tail)
    )
    aggregates: list[Bounds | None] = [None, None]
    if np.isin(LADDER, curves.ts).all():
        aggregates = [
            bounds(float(of(curves)[0]), of(drawn), confidence)
            for of in (graphnet_aggregate, passbench_aggregate)
        ]
    families = int((sums.count[:, 0] > 0).sum())
    return Estimate(
        curves, low, high, aggregates[0], aggregates[1], len(samples), families, confidence
    )


def bounds(value: float, drawn: Floats, confidence: float) -> Bounds:
    """A value with the percentiles of its draws."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Bounds(value, min(float(low), value), max(float(high), value))


_SUMMED = [entry.name for entry in fields(Sums) if entry.name != "ts"]


def _map(change: Any, *curves: Curves) -> Curves:
    """Curves of which every array but the levels is changed."""
    names = [entry.name for entry in fields(Curves) if entry.name != "ts"]
    made = {name: change(*(getattr(each, name) for each in curves)) for name in names}
    return Curves(curves[0].ts, **made)
