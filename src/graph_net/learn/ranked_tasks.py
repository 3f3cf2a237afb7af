"""What a ranking picks from tasks, and metrics as sums over tasks, for bootstrapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graph_net.learn.metrics import (
    Floats,
    TaskCosts,
    Weights,
    best_over_picked,
    pairwise_by_task,
    r_squared_by_task,
    random_best_over_picked,
)
from graph_net.learn.rank_metrics import (
    SLOWDOWNS,
    TILE_K,
    opa_by_task,
    random_slowdown,
    slowdown_by_task,
    tau_by_task,
)

KS = (1, 5)
"""How many top programs are considered."""
NEAR = 30
"""Number of measured pairs, nearest by cost, of which one is drawn."""


@dataclass(frozen=True)
class RankedTasks:
    """What a ranking of each task's programs gives."""

    picked: Mapping[int, Floats]
    """By k, the least cost among the first k of each task; if all failed, that of the slowest."""
    reached: Mapping[int, Floats]
    """By k, the least cost of all over ``picked``."""
    in_order: Floats
    """Fraction of each task's pairs that is ordered as the costs are."""
    labels: Floats | None
    """Predicted label of each program; None if the ranking has no labels."""
    scores: Floats | None = None
    """The scores, if configurations are judged by τ and slowdown; NaN for the random ranking."""


def slowest_by_task(programs: TaskCosts) -> Floats:
    """Return the cost of each task's slowest program that ran."""
    slowest = np.zeros(programs.count)
    ran = np.isfinite(programs.costs)
    np.maximum.at(slowest, programs.tasks[ran], programs.costs[ran])
    return slowest


def rank_by_scores(programs: TaskCosts, scores: Floats, labels: Floats | None) -> RankedTasks:
    """Return what the programs with the highest scores give."""
    return RankedTasks(
        {k: np.minimum(programs.least_of_first(scores, k), slowest_by_task(programs)) for k in KS},
        {k: best_over_picked(programs, scores, k) for k in KS},
        pairwise_by_task(programs, scores),
        labels,
        scores,
    )


def rank_at_random(programs: TaskCosts, seed: int) -> RankedTasks:
    """Return the expectation of a random order; its labels are those of the task, shuffled."""
    slowest = slowest_by_task(programs)[programs.tasks]
    bounded = TaskCosts(np.minimum(programs.costs, slowest), programs.tasks)
    generator = np.random.default_rng(seed)
    labels = np.empty_like(programs.labels)
    for rows in programs.rows():
        labels[rows] = generator.permutation(programs.labels[rows])
    return RankedTasks(
        {k: bounded.random_least(k) for k in KS},
        {k: random_best_over_picked(programs, k) for k in KS},
        pairwise_by_task(programs, programs.labels) / 2,
        labels,
    )


def rank_perfectly(programs: TaskCosts) -> RankedTasks:
    """Return what the costs themselves give; equal costs are never in order."""
    return rank_by_scores(programs, programs.labels, programs.labels)


@dataclass(frozen=True)
class RepeatedCosts:
    """Programs that were measured twice, sorted by first cost; they show the noise."""

    costs: Floats
    """Ascending."""
    log_ratios: Floats
    """ln(second / first)."""

    @staticmethod
    def of(first: Floats, second: Floats) -> RepeatedCosts:
        """Return the programs that ran both times; NaN means not measured."""
        both = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
        order = both[np.argsort(first[both], kind="stable")]
        return RepeatedCosts(first[order], np.log(second[order] / first[order]))

    @staticmethod
    def join(several: Sequence[RepeatedCosts]) -> RepeatedCosts:
        """Return the pairs of several platforms as one."""
        costs = np.concatenate([one.costs for one in several])
        ratios = np.concatenate([one.log_ratios for one in several])
        order = np.argsort(costs, kind="stable")
        return RepeatedCosts(costs[order], ratios[order])

    def draw(self, costs: Floats, generator: np.random.Generator) -> Floats:
        """Return costs as if measured again, by the ratio of a repeated program of similar cost.

        Short programs are noisier than long ones. A ratio is used in either direction.
        """
        near = min(NEAR, self.costs.size)
        first = np.searchsorted(self.costs, costs) - near // 2
        start = first.clip(0, self.costs.size - near)
        drawn = self.log_ratios[start + generator.integers(near, size=costs.size)]
        return np.asarray(costs * np.exp(drawn * generator.choice([-1.0, 1.0], costs.size)))


def rank_by_measuring_again(
    programs: TaskCosts, repeated: RepeatedCosts, generator: np.random.Generator
) -> RankedTasks:
    """Return what measuring every program again would give, from those measured twice."""
    again = TaskCosts.of(repeated.draw(programs.costs, generator), programs.tasks)
    return rank_by_scores(programs, again.labels, again.labels)


@dataclass(frozen=True)
class TaskRatio:
    """A metric: the mean over groups of Σ over / Σ under, sums over tasks; optionally its root."""

    over: Floats
    """Shape: groups × tasks."""
    under: Floats
    is_root: bool = False

    def values(self, counts: Floats) -> Floats:
        """Return the metric with tasks repeated by ``counts``: one value per row of counts."""
        over, under = counts @ self.over.T, counts @ self.under.T
        there = under > 0
        ratios = np.divide(over, under, out=np.zeros_like(over), where=there)
        found = there.sum(axis=1)
        means = np.divide(
            ratios.sum(axis=1), found, out=np.full(len(found), np.nan), where=found > 0
        )
        return np.asarray(np.sqrt(means) if self.is_root else means)

    @property
    def value(self) -> float:
        """The metric with every task once."""
        return float(self.values(np.ones((1, self.over.shape[1])))[0])


def metrics_of(programs: TaskCosts, ranked: RankedTasks, weights: Weights) -> dict[str, TaskRatio]:
    """Return every metric of a ranking by name; RMSE, R² and MAPE only if labels are given."""
    sizes, ones = programs.sizes.astype(np.float64), np.ones(programs.count)
    found: dict[str, TaskRatio] = {}
    for k in KS:
        found[f"best/picked at {k}"] = _mean(ranked.reached[k], ones)
        calls = _calls(programs, weights)
        least = calls * programs.least
        taken = calls * ranked.picked[k]
        found[f"top-{k}, mean of networks"] = TaskRatio(least, taken)
        found[f"top-{k}, pooled"] = TaskRatio(
            least.sum(axis=0, keepdims=True), taken.sum(axis=0, keepdims=True)
        )
    found["pairwise accuracy"] = _mean(ranked.in_order, sizes)
    if ranked.labels is not None:
        found |= _errors(programs, ranked.labels, sizes)
    return found


def config_metrics_of(programs: TaskCosts, ranked: RankedTasks) -> dict[str, TaskRatio]:
    """Return the metrics of configurations, as in TpuGraphs; expectations for a random order."""
    ones, scores = np.ones(programs.count), ranked.scores
    if scores is None:
        tau, opa = np.zeros(programs.count), np.full(programs.count, 0.5)
        slow = {k: random_slowdown(programs, k) for k in SLOWDOWNS}
    else:
        tau, opa = tau_by_task(programs, scores), opa_by_task(programs, scores)
        slow = {k: slowdown_by_task(programs, scores, k) for k in SLOWDOWNS}
    found = {"Kendall τ": _mean(tau, ones), "OPA": _mean(opa, ones)}
    found |= {f"slowdown@{k}": _mean(values, ones) for k, values in slow.items()}
    return found | {"tile score (1 - slowdown@5)": _mean(1 - slow[TILE_K], ones)}


def _errors(programs: TaskCosts, labels: Floats, sizes: Floats) -> dict[str, TaskRatio]:
    squares = _sum_by_task(programs, (labels - programs.labels) ** 2)
    ran = programs.labels > 0
    relative = np.zeros_like(labels)
    relative[ran] = np.abs(labels - programs.labels)[ran] / programs.labels[ran]
    return {
        "RMSE": TaskRatio(squares[None], sizes[None], is_root=True),
        "R²": _mean(r_squared_by_task(programs, labels), sizes),
        "MAPE": TaskRatio(
            _sum_by_task(programs, relative)[None],
            _sum_by_task(programs, ran.astype(np.float64))[None],
        ),
    }


def _sum_by_task(programs: TaskCosts, values: Floats) -> Floats:
    return np.bincount(programs.tasks, values).astype(np.float64)


def _mean(values: Floats, weights: Floats) -> TaskRatio:
    return TaskRatio((values * weights)[None], weights[None])


def _calls(programs: TaskCosts, weights: Weights) -> Floats:
    """Return how often each network calls each task: networks × tasks."""
    calls = np.zeros((len(weights), programs.count))
    for row, tasks in enumerate(weights.values()):
        for task, often in tasks.items():
            calls[row, task] = often
    return calls
