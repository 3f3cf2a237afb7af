"""S(t) and ES(t): GraphNet's formulas over columns of samples.

Every score is a function of six sums (samples, correct, correct with a speedup, slower, and the log
speedups of the last two) and of failures by fault, so a bootstrap needs only the sums of each
cluster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graph_net.score.faults import DEFAULT, Fault, Interpretation
from graph_net.score.samples import SLACK, Floats, ScoredGraphs

LADDER = tuple(float(t) for t in range(-10, 5))
FROZEN_FROM = 1.0
"""From this t on the set of correct samples stays the same: larger t tolerate faults."""
NO_SAMPLES = "no samples to score"


@dataclass(frozen=True)
class Parameters:
    """The penalty p for slowdowns, the base b for failures, and which t tolerates which fault."""

    p: float = 0.0
    b: float = 0.1
    interpretation: Interpretation = DEFAULT

    def __post_init__(self) -> None:
        if not 0 < self.b <= 1:
            raise ValueError(f"b, the speedup of a failure, must be 0 < b ≤ 1, not {self.b}")
        if not (self.p >= 0 and math.isfinite(self.p)):
            raise ValueError(f"p, the penalty for slowdowns, must be finite and ≥ 0, not {self.p}")


@dataclass(frozen=True)
class Sums:
    """The sums that scores are computed from, for each cluster (first axis) and each t (second).

    ``timed`` counts correct samples with a speedup, ``punished`` failures whose fault t does not
    tolerate.
    """

    ts: Floats
    count: Floats
    correct: Floats
    timed: Floats
    slower: Floats
    log_correct: Floats
    log_slower: Floats
    punished: Floats

    def weighted(self, weights: Floats) -> Sums:
        """Return the sums over clusters, for each row of weights (draws × clusters)."""
        parts = (
            self.correct, self.timed, self.slower, self.log_correct, self.log_slower, self.punished,
        )  # fmt: skip
        # Columns of one matrix, for one product; the count is the same at every t.
        side = np.hstack([self.count[:, :1], *parts])
        product = weights @ side
        steps = len(self.ts)
        rest = product[:, 1:].reshape(len(weights), len(parts), steps)
        count = np.repeat(product[:, :1], steps, axis=1)
        return Sums(self.ts, count, *(rest[:, index] for index in range(len(parts))))

    def total(self) -> Sums:
        """Return the sums over all clusters."""
        return self.weighted(np.ones((1, len(self.count))))


@dataclass(frozen=True)
class Curves:
    """α, β, λ, η, γ, S and ES at each t; arrays of one row, or of one row per draw."""

    ts: Floats
    alpha: Floats
    beta: Floats
    correct_share: Floats
    slower_share: Floats
    gamma: Floats
    s: Floats
    es: Floats


def sums_of(
    samples: ScoredGraphs,
    ts: Sequence[float] | Floats = LADDER,
    interpretation: Interpretation = DEFAULT,
) -> Sums:
    """Return the sums by cluster at each t."""
    if not len(samples):
        raise ValueError(NO_SAMPLES)
    steps = np.asarray(ts, np.float64)
    reached, back = np.unique(np.minimum(steps, FROZEN_FROM), return_inverse=True)
    clusters, bins = int(samples.family.max()) + 1, len(reached) + 1
    # The first level a sample passes at; those that pass at none fall into one more bin.
    position = samples.family * bins + np.searchsorted(reached, samples.t - SLACK)
    slow = samples.log_speedup < 0

    def until(weights: Floats | None) -> Floats:
        sums = np.bincount(position, weights, clusters * bins).reshape(clusters, bins)
        return np.cumsum(sums, axis=1, dtype=np.float64)[:, :-1][:, back]

    count = np.bincount(samples.family, minlength=clusters).astype(np.float64)
    correct = until(None)
    return Sums(
        steps,
        np.repeat(count[:, None], len(steps), axis=1),
        correct,
        correct if samples.timed.all() else until(samples.timed.astype(np.float64)),
        until(slow.astype(np.float64)),
        until(samples.log_speedup),
        until(np.where(slow, samples.log_speedup, 0.0)),
        np.where(
            steps < FROZEN_FROM,
            count[:, None] - correct,
            _count_not_tolerated(samples, steps, interpretation, clusters),
        ),
    )


def _count_not_tolerated(
    samples: ScoredGraphs, steps: Floats, interpretation: Interpretation, clusters: int
) -> Floats:
    """Count samples that failed at t = 1 with a fault that a step does not tolerate."""
    failed = samples.t - SLACK > FROZEN_FROM
    family, fault = samples.family[failed], samples.fault[failed]
    kinds = len(Fault)
    counts = np.bincount(family * kinds + fault, minlength=clusters * kinds)
    levels = np.array(interpretation.levels())
    punished = (steps[None, :] < levels[:, None]).astype(np.float64)
    return np.asarray(counts.reshape(clusters, kinds) @ punished, np.float64)


def curves_of(sums: Sums, parameters: Parameters = Parameters()) -> Curves:  # noqa: B008 - frozen
    """Return the scores of sums, row by row; α and η are over correct samples with a speedup."""
    alpha = np.exp(_share(sums.log_correct, sums.timed))
    beta = np.exp(_share(sums.log_slower, sums.slower))
    lam, eta = _share(sums.correct, sums.count), _share(sums.slower, sums.timed)
    failed = sums.count - sums.correct
    gamma = parameters.b ** _share(sums.punished, failed)
    common = alpha**lam * beta ** (lam * eta * parameters.p)
    return Curves(
        sums.ts, alpha, beta, lam, eta, gamma,
        common * parameters.b ** (1 - lam), common * gamma ** (1 - lam),
    )  # fmt: skip


def _share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 where the whole is empty."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def score(
    samples: ScoredGraphs,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    ts: Sequence[float] | Floats = LADDER,
) -> Curves:
    """Return the scores of samples at each t, any real number."""
    return curves_of(sums_of(samples, ts, parameters.interpretation).total(), parameters)


def combine(
    alpha: float, beta: float, lam: float, eta: float, p: float = 0.0, gamma: float = 0.1
) -> float:
    """Return S(t) from its components, or ES(t) with γ_t in place of b."""
    return float(alpha**lam * beta ** (lam * eta * p) * gamma ** (1 - lam))
