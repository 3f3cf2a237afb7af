"""LearningSet: the features and costs of programs of tasks, as all models take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graph_net.learn.metrics import Ints, MetricError, TaskCosts, Weights

Features = NDArray[np.float32]


class LearnError(ValueError):
    """Data that no model can learn from, or a model that cannot be used on it."""


@dataclass(frozen=True)
class LearningTask:
    """A task: its name, its operator, where its programs were measured, which networks call it."""

    name: str
    kind: str = ""
    platform: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    graph: str = ""
    """Id of the task's graph; tasks of two platforms with one id compute the same function."""


@dataclass(frozen=True)
class LearningSet:
    """Programs of tasks with their features and costs.

    A program has one row of features (from a kernel's configuration) or several (one per store, or
    per primitive of a schedule): program ``i`` has the rows from ``starts[i]`` up to ``starts[i +
    1]``. ``columns`` names the numbers of a row.
    """

    columns: tuple[str, ...]
    rows: Features
    starts: Ints
    programs: TaskCosts
    tasks: tuple[LearningTask, ...]

    ranks_configs: ClassVar[bool] = False
    """Whether the set is judged as in TpuGraphs: by τ, OPA and slowdown."""

    def __post_init__(self) -> None:
        count = self.programs.costs.size
        if self.rows.ndim != 2 or self.rows.shape[1] != len(self.columns):
            raise LearnError(
                f"rows have {self.rows.shape[1:]} numbers for {len(self.columns)} names"
            )
        if (
            self.starts.shape != (count + 1,)
            or self.starts[0] != 0
            or self.starts[-1] != len(self.rows)
        ):
            raise LearnError(f"starts does not divide {len(self.rows)} rows among {count} programs")
        if (np.diff(self.starts) < 1).any():
            raise LearnError("a program has no row of features; it needs at least one")
        if len(self.tasks) != self.programs.count:
            raise LearnError(
                f"{len(self.tasks)} tasks are described, {self.programs.count} are used"
            )
        if not np.isfinite(self.rows).all():
            raise LearnError("features are finite numbers")

    def __len__(self) -> int:
        return int(self.programs.costs.size)

    @cached_property
    def is_tabular(self) -> bool:
        """Whether every program has exactly one row."""
        return len(self.rows) == len(self)

    @cached_property
    def owners(self) -> Ints:
        """The program of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def weights(self) -> Weights:
        """How often each network calls each task, by its index."""
        calls: dict[str, dict[int, float]] = {}
        for index, task in enumerate(self.tasks):
            for network, often in task.weights.items():
                calls.setdefault(network, {})[index] = often
        return calls

    def select(self, wanted: Sequence[int]) -> LearningSet:
        """Return the set of these tasks only, in this order."""
        if len(set(wanted)) != len(wanted) or not len(wanted):
            raise LearnError("tasks are selected once each, at least one")
        numbers = np.full(len(self.tasks), -1)
        numbers[list(wanted)] = np.arange(len(wanted))
        return self._take(np.flatnonzero(numbers[self.programs.tasks] >= 0), numbers, wanted)

    def take(self, programs: Ints) -> LearningSet:
        """Return the set of these programs only; tasks without programs are dropped."""
        used = np.unique(self.programs.tasks[programs])
        numbers = np.full(len(self.tasks), -1)
        numbers[used] = np.arange(used.size)
        return self._take(programs, numbers, used.tolist())

    def _take(self, programs: Ints, numbers: Ints, tasks: Sequence[int]) -> LearningSet:
        sizes = np.diff(self.starts)[programs]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.repeat(self.starts[programs] - starts[:-1], sizes) + np.arange(starts[-1])
        try:
            costs = TaskCosts.of(
                self.programs.costs[programs], numbers[self.programs.tasks[programs]]
            )
        except MetricError as error:
            raise LearnError(str(error)) from error
        described = tuple(self.tasks[index] for index in tasks)
        return LearningSet(self.columns, self.rows[rows], starts, costs, described)


def tabular_set(
    columns: Sequence[str],
    rows: Features,
    costs: ArrayLike,
    tasks: ArrayLike,
    described: Sequence[LearningTask],
) -> LearningSet:
    """Make a set of programs that have one row of features each."""
    starts = np.arange(len(rows) + 1)
    programs = TaskCosts.of(costs, tasks)
    return LearningSet(
        tuple(columns), np.asarray(rows, np.float32), starts, programs, tuple(described)
    )
