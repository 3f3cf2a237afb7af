"""How well a model ranks programs that it has not learned from, beside references.

References of each metric are the random ranking, the best possible ranking, and the ceiling: what a
second measurement of every program would score, which no model can be expected to exceed. Intervals
are 95 %, from drawing tasks with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graph_net.learn.cost_model import CostModel
from graph_net.learn.label_scale import LabelScale
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import Floats, TaskCosts, Weights, effective_tasks, top_k
from graph_net.learn.paired import LEVEL, PairedDifference, compare_models
from graph_net.learn.ranked_tasks import (
    KS,
    RankedTasks,
    RepeatedCosts,
    TaskRatio,
    config_metrics_of,
    metrics_of,
    rank_at_random,
    rank_by_measuring_again,
    rank_by_scores,
    rank_perfectly,
)

DRAWS = 2000
AT_ONCE = 1 << 22
"""Numbers per bootstrap step, to bound memory."""
CEILING_DRAWS = 10
LEAST_PAIRS = 20
"""Least programs measured twice for a ceiling to be given."""
NO_NETWORK = "every task once"
"""Name used for the network if no task has a known network."""


@dataclass(frozen=True)
class MetricScore:
    """A metric of a model with its interval and its references."""

    metric: str
    value: float
    low: float
    high: float
    random: float
    best: float
    ceiling: float | None
    """None if too few programs were measured twice."""

    @property
    def interval(self) -> str:
        """The interval as text; a single task has none."""
        return f"{self.low:.3f} … {self.high:.3f}" if np.isfinite(self.low) else "one task"


@dataclass(frozen=True)
class KindScore:
    """The scores of the tasks of one operator."""

    kind: str
    tasks: int
    scores: tuple[MetricScore, ...]


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model on a set of programs."""

    tasks: int
    programs: int
    pairs: int
    """Programs that were measured twice, from which the ceiling is computed."""
    effective_tasks: float
    """1 / Σ share², where a task's share is its part of the pooled time."""
    scores: tuple[MetricScore, ...]
    kinds: tuple[KindScore, ...]
    networks: Mapping[str, Mapping[str, float]]
    """Top-k of each network."""

    def score(self, metric: str) -> MetricScore:
        """Return the score of a metric by name."""
        return next(score for score in self.scores if score.metric == metric)


@dataclass(frozen=True)
class ModelComparison:
    """Two models on the same tasks: best / picked, paired by task, for each k."""

    differences: Mapping[int, tuple[PairedDifference, ...]]


def evaluate_model(
    model: CostModel, measured: MeasuredSet, scale: LabelScale | None = None, seed: int = 0
) -> Evaluation:
    """Return every metric of a model on a set; RMSE, R² and MAPE only if scores have a scale."""
    return evaluate_scores(measured, model.predict(measured.data), scale, seed)


def evaluate_scores(
    measured: MeasuredSet, scores: Floats, scale: LabelScale | None = None, seed: int = 0
) -> Evaluation:
    """Return every metric of a ranking of a set."""
    data, programs = measured.data, measured.data.programs
    weights = data.weights or {NO_NETWORK: dict.fromkeys(range(programs.count), 1.0)}
    labels = None if scale is None else scale.predict(programs, scores)
    model = rank_by_scores(programs, scores, labels)
    others = _Others.of(programs, measured.repeated, seed)
    kinds = np.array([task.kind for task in data.tasks], dtype=object)
    return Evaluation(
        programs.count,
        len(data),
        measured.repeated.costs.size,
        effective_tasks(programs, weights),
        tuple(_scored(programs, model, others, _metrics(data, weights), seed)),
        tuple(_by_kind(programs, model, others, kinds.tolist(), seed)),
        _networks(programs, model, weights),
    )


def compare_scores(data: LearningSet, one: Floats, other: Floats) -> ModelComparison:
    """Compare what two models pick from each task, over all tasks and per operator."""
    kinds = [task.kind for task in data.tasks]
    first, second = (rank_by_scores(data.programs, scores, None) for scores in (one, other))
    return ModelComparison(
        {k: tuple(compare_models(first.reached[k], second.reached[k], kinds)) for k in KS}
    )


@dataclass(frozen=True)
class _Others:
    """The references that a model is compared with."""

    random: RankedTasks
    best: RankedTasks
    again: tuple[RankedTasks, ...]

    @staticmethod
    def of(programs: TaskCosts, repeated: RepeatedCosts, seed: int) -> _Others:
        generator = np.random.default_rng(seed)
        draws = CEILING_DRAWS if repeated.costs.size >= LEAST_PAIRS else 0
        return _Others(
            rank_at_random(programs, seed),
            rank_perfectly(programs),
            tuple(rank_by_measuring_again(programs, repeated, generator) for _ in range(draws)),
        )


Metrics = Callable[[TaskCosts, RankedTasks], dict[str, TaskRatio]]


def _metrics(data: LearningSet, weights: Weights) -> Metrics:
    """Return the metrics of a set; τ and slowdown come first for configurations."""

    def every(programs: TaskCosts, ranked: RankedTasks) -> dict[str, TaskRatio]:
        first = config_metrics_of(programs, ranked) if data.ranks_configs else {}
        return first | metrics_of(programs, ranked, weights)

    return every


def _scored(
    programs: TaskCosts, model: RankedTasks, others: _Others, metrics: Metrics, seed: int
) -> Iterator[MetricScore]:
    random, best, *again = (
        metrics(programs, ranked) for ranked in (others.random, others.best, *others.again)
    )
    for name, metric in metrics(programs, model).items():
        ceilings = [one[name].value for one in again]
        yield _with_interval(name, metric, random[name].value, best[name].value, ceilings, seed)


def _by_kind(
    programs: TaskCosts, model: RankedTasks, others: _Others, kinds: Sequence[str], seed: int
) -> Iterator[KindScore]:
    names = np.array(kinds, dtype=object)
    for kind in sorted(set(kinds)):
        mine = names == kind
        scores = []
        for k in KS:
            means = [float(one.reached[k][mine].mean()) for one in others.again]
            metric = TaskRatio(model.reached[k][mine][None], np.ones((1, int(mine.sum()))))
            random, best = (one.reached[k][mine].mean() for one in (others.random, others.best))
            scores.append(_with_interval(f"best/picked at {k}", metric, random, best, means, seed))
        yield KindScore(kind, int(mine.sum()), tuple(scores))


def _with_interval(
    name: str, metric: TaskRatio, random: float, best: float, ceilings: Sequence[float], seed: int
) -> MetricScore:
    low, high = bootstrap(metric, seed)
    ceiling = float(np.mean(ceilings)) if ceilings else None
    return MetricScore(name, metric.value, low, high, float(random), float(best), ceiling)


def bootstrap(metric: TaskRatio, seed: int = 0) -> tuple[float, float]:
    """Return the interval of a metric over the choice of tasks; infinite for a single task."""
    count = metric.over.shape[1]
    if count == 1:
        return -np.inf, np.inf
    generator = np.random.default_rng(seed)
    values = []
    step = max(1, AT_ONCE // count)
    for start in range(0, DRAWS, step):
        draws = min(step, DRAWS - start)
        counts = generator.multinomial(count, np.full(count, 1 / count), size=draws)
        values.append(metric.values(counts.astype(np.float64)))
    low, high = np.nanquantile(np.concatenate(values), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _networks(
    programs: TaskCosts, model: RankedTasks, weights: Weights
) -> dict[str, dict[str, float]]:
    found = {k: top_k(programs, model.picked[k], weights).networks for k in KS}
    return {network: {f"top-{k}": found[k][network] for k in KS} for network in sorted(weights)}
