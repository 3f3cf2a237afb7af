"""How good a ranking of programs is, as TenSet, TLP and their successors define it.

Every metric takes programs in tasks: a cost in seconds (the mean of its repeats; infinite for a
failure), the model's score (higher is faster), and the task's index. Labels are ``least cost of the
task / cost``: 1 for the best program, 0 for a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PAIRS_AT_ONCE = 1 << 22
"""Pairs of programs compared per step, to bound memory."""


class MetricError(ValueError):
    """Programs for which no metric is defined."""


@dataclass(frozen=True)
class TaskCosts:
    """The costs of programs, grouped by task, which rankings are judged against.

    Programs are in the given order; ``tasks`` has the index of each program's task.
    """

    costs: Floats
    tasks: Ints

    @staticmethod
    def of(costs: ArrayLike, tasks: ArrayLike) -> TaskCosts:
        """Validate and convert; every task needs a program that ran."""
        found = TaskCosts(np.asarray(costs, np.float64), np.asarray(tasks, np.int64))
        if found.costs.shape != found.tasks.shape or found.costs.ndim != 1 or not found.costs.size:
            raise MetricError("costs and tasks are two lists of the same length, not empty")
        if not (found.costs > 0).all() or found.tasks.min() < 0:
            raise MetricError("a cost is a positive number of seconds, a task an index from 0")
        if np.bincount(found.tasks).min() == 0 or not np.isfinite(found.least).all():
            raise MetricError("every task from 0 to the last has a program that ran")
        return found

    @cached_property
    def count(self) -> int:
        """How many tasks there are."""
        return int(self.tasks.max()) + 1

    @cached_property
    def sizes(self) -> Ints:
        """How many programs each task has."""
        return np.bincount(self.tasks, minlength=self.count)

    @cached_property
    def least(self) -> Floats:
        """The least cost of each task."""
        least = np.full(self.count, np.inf)
        np.minimum.at(least, self.tasks, self.costs)
        return least

    @cached_property
    def labels(self) -> Floats:
        """Return least cost of the task / cost, for each program."""
        return self.least[self.tasks] / self.costs

    def rows(self) -> Iterator[Ints]:
        """Yield the rows of each task's programs, in order of tasks."""
        order = np.argsort(self.tasks, kind="stable")
        yield from np.split(order, np.cumsum(self.sizes)[:-1])

    def least_of_first(self, scores: ArrayLike, k: int) -> Floats:
        """Return, for each task, the least cost among the k programs with the highest scores.

        Of equal scores, the program given first ranks first; a task with fewer programs gives its
        least cost.
        """
        order = np.lexsort((-_checked(scores, self), self.tasks))
        starts = np.cumsum(self.sizes) - self.sizes
        rank = np.arange(order.size) - np.repeat(starts, self.sizes)
        taken = order[rank < k]
        least = np.full(self.count, np.inf)
        np.minimum.at(least, self.tasks[taken], self.costs[taken])
        return least

    def random_least(self, k: int) -> Floats:
        """Return, for each task, the expected least cost among k programs drawn at random.

        Infinite if all k may have failed.
        """
        return np.array([_expected(np.sort(self.costs[rows]), k) for rows in self.rows()])


def best_over_picked(programs: TaskCosts, scores: ArrayLike, k: int = 1) -> Floats:
    """Return, for each task, least cost / least cost among the first k: 1 is perfect."""
    return programs.least / programs.least_of_first(scores, k)


def random_best_over_picked(programs: TaskCosts, k: int = 1) -> Floats:
    """Return the expectation of ``best_over_picked`` for a random ranking, for each task."""
    values = programs.labels
    return np.array([-_expected(np.sort(-values[rows]), k) for rows in programs.rows()])


@dataclass(frozen=True)
class TopKScore:
    """TenSet's and TLP's top-k: Σ least · weight / Σ least among the first k · weight."""

    networks: dict[str, float]
    pooled: float
    """Over the tasks of all networks, as in TLP."""

    @property
    def mean(self) -> float:
        """The mean over networks, as in TenSet; not comparable with ``pooled``."""
        return float(np.mean(list(self.networks.values())))


Weights = Mapping[str, Mapping[int, float]]
"""How often each network calls each task."""


def top_k(programs: TaskCosts, picked: Floats, weights: Weights) -> TopKScore:
    """Return the top-k score of the ``picked`` costs, one per task."""
    sums = {
        network: np.array(
            [(programs.least[task] * often, picked[task] * often) for task, often in calls.items()]
        ).sum(axis=0)
        for network, calls in weights.items()
        if calls
    }
    if not sums:
        raise MetricError("no network calls a task")
    least, taken = np.sum(list(sums.values()), axis=0)
    return TopKScore({name: float(a / b) for name, (a, b) in sums.items()}, float(least / taken))


def effective_tasks(programs: TaskCosts, weights: Weights) -> float:
    """Return 1 / Σ share²: how many tasks a pooled top-k effectively depends on.

    A task's share is its part of the pooled latency; with a few heavy tasks, a score says little.
    """
    latency = np.zeros(programs.count)
    for calls in weights.values():
        for task, often in calls.items():
            latency[task] += programs.least[task] * often
    share = latency / latency.sum()
    return float(1 / (share**2).sum())


def rmse(programs: TaskCosts, scores: ArrayLike) -> float:
    """Return the root of the mean squared error of scores against labels."""
    return float(np.sqrt(np.mean((_checked(scores, programs) - programs.labels) ** 2)))


def r_squared(programs: TaskCosts, scores: ArrayLike) -> float:
    """Return R² against labels, averaged over tasks with weights by their number of programs.

    A task whose labels are all equal counts 1 if they are met exactly, else 0.
    """
    return float(np.average(r_squared_by_task(programs, scores), weights=programs.sizes))


def r_squared_by_task(programs: TaskCosts, scores: ArrayLike) -> Floats:
    """Return R² of each task."""
    values, scores = programs.labels, _checked(scores, programs)
    return np.array([_r_squared(values[rows], scores[rows]) for rows in programs.rows()])


def mape(programs: TaskCosts, scores: ArrayLike) -> float:
    """Return the mean absolute error relative to the label, of programs that ran."""
    ran = programs.labels > 0
    values, scores = programs.labels[ran], _checked(scores, programs)[ran]
    return float(np.mean(np.abs(scores - values) / values))


def pairwise_accuracy(programs: TaskCosts, scores: ArrayLike) -> float:
    """Return the fraction of pairs within a task that scores order as costs do.

    As TenSet counts: equal scores or equal costs are not in order, a task of one program counts one
    half, and tasks are weighted by their number of programs.
    """
    return float(np.average(pairwise_by_task(programs, scores), weights=programs.sizes))


def pairwise_by_task(programs: TaskCosts, scores: ArrayLike) -> Floats:
    """Return the pairwise accuracy of each task."""
    values, scores = programs.labels, _checked(scores, programs)
    return np.array([_pairs_in_order(values[rows], scores[rows]) for rows in programs.rows()])


def peak_score(programs: TaskCosts, scores: ArrayLike, k: int) -> float:
    """Return the mean over tasks of the best label among the first k."""
    return float(np.mean(best_over_picked(programs, scores, k)))


def _checked(scores: ArrayLike, programs: TaskCosts) -> Floats:
    values = np.asarray(scores, np.float64)
    if values.shape != programs.costs.shape:
        raise MetricError(f"{values.size} scores of {programs.costs.size} programs")
    if not np.isfinite(values).all():
        raise MetricError("a score is a finite number")
    return values


def _expected(ascending: Floats, k: int) -> float:
    """Return the expected least of k values drawn without replacement from sorted ones.

    The i-th least is the least drawn with probability C(n-i, k-1) / C(n, k).
    """
    count = ascending.size
    k = min(k, count)
    ranks = np.arange(count - k + 1)
    # P(i) / P(i-1) = (n - i - k + 1) / (n - i), from P(0) = k / n
    steps = np.concatenate([[k / count], (count - ranks[1:] - k + 1) / (count - ranks[1:])])
    return float(np.cumprod(steps) @ ascending[: ranks.size])


def _r_squared(values: Floats, scores: Floats) -> float:
    error, spread = ((scores - values) ** 2).sum(), ((values - values.mean()) ** 2).sum()
    return float(1 - error / spread) if spread else float(error == 0)


def _pairs_in_order(values: Floats, scores: Floats) -> float:
    count = values.size
    if count < 2:
        return 0.5
    right, step = 0, max(1, PAIRS_AT_ONCE // count)
    for start in range(0, count, step):
        block = slice(start, start + step)
        product = np.sign(scores[block, None] - scores) * np.sign(values[block, None] - values)
        right += int((product > 0).sum())
    return right / (count * (count - 1))
