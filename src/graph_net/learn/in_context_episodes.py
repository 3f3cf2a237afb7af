"""Episodes for learning to rank in context: some programs of a task as measured, others to rank.

The number of measured programs is drawn log-uniformly from 0. In half of the episodes they are
faster than random ones, like those that a search measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graph_net.learn.learning_set import Features, LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints, TaskCosts

ABSENT = -1
"""Placeholder for a missing program of a row."""
CHOSEN_FROM = 4
"""Random programs drawn for each one that a simulated search chooses."""


@dataclass(frozen=True)
class EpisodeShape:
    """Most tasks of an episode, most measured programs, and programs to rank."""

    tasks: int
    measured: int
    ranked: int


@dataclass(frozen=True)
class Episode:
    """Programs of some tasks of one set; each row of ``measured`` and ``ranked`` is a task."""

    set_index: int
    programs: Ints
    """All programs of the episode, as indices of the set."""
    measured: Ints
    """Positions in ``programs``, or ABSENT."""
    ranked: Ints


class Episodes:
    """Draws episodes from sets, in proportion to the square root of their number of tasks."""

    def __init__(self, sets: Sequence[LearningSet], shape: EpisodeShape, seed: int) -> None:
        self._costs = [data.programs.costs for data in sets]
        self._groups = [_with_a_choice(data) for data in sets]
        often = np.sqrt([len(groups) for groups in self._groups])
        if not often.sum():
            raise LearnError("no task has two programs: there is nothing to rank")
        self._often = often / often.sum()
        self._shape = shape
        self._generator = np.random.default_rng(seed)

    def draw(self, count: int) -> Iterator[Episode]:
        """Yield this many episodes."""
        for _ in range(count):
            yield self._draw(int(self._generator.choice(len(self._often), p=self._often)))

    def _draw(self, index: int) -> Episode:
        groups = self._groups[index]
        tasks = self._generator.permutation(len(groups))[: self._shape.tasks]
        parts = [self._parts(groups[task], self._costs[index]) for task in tasks]
        listed = [measured for measured, _ in parts] + [ranked for _, ranked in parts]
        programs = np.concatenate(listed)
        places = np.split(np.arange(programs.size), np.cumsum([part.size for part in listed])[:-1])
        count = len(parts)
        return Episode(index, programs, _padded(places[:count]), _padded(places[count:]))

    def _parts(self, group: Ints, costs: Floats) -> tuple[Ints, Ints]:
        """Return the programs of a task to be measured, and those to rank."""
        order = self._generator.permutation(group)
        most = min(self._shape.measured, order.size - 2)
        count = int(np.exp(self._generator.uniform(0, np.log(most + 2)))) - 1
        if self._generator.random() < 0.5:
            drawn = min(CHOSEN_FROM * count, order.size - 2)
            order[:drawn] = order[:drawn][np.argsort(costs[order[:drawn]])]
        ranked = self._generator.permutation(order[count:])[: self._shape.ranked]
        return order[:count], ranked


def rows_of(data: LearningSet, programs: Ints) -> tuple[Features, Ints]:
    """Return the rows of some programs, concatenated, and how many each has."""
    sizes = np.diff(data.starts)[programs]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if sizes.size else 0
    return data.rows[
        np.repeat(data.starts[programs] - ends + sizes, sizes) + np.arange(total)
    ], sizes


def join_by_dialect(sets: Sequence[LearningSet]) -> list[LearningSet]:
    """Return one joined set per tuple of columns, in order of first occurrence."""
    if not sets:
        raise LearnError("a model learns from at least one set")
    dialects: dict[tuple[str, ...], list[LearningSet]] = {}
    for data in sets:
        dialects.setdefault(data.columns, []).append(data)
    return [_joined(same) for same in dialects.values()]


def _joined(sets: Sequence[LearningSet]) -> LearningSet:
    offsets = np.cumsum([0, *(len(data.tasks) for data in sets)])
    sizes = np.concatenate([np.diff(data.starts) for data in sets])
    tasks = [data.programs.tasks + offset for data, offset in zip(sets, offsets, strict=False)]
    return LearningSet(
        sets[0].columns,
        np.concatenate([data.rows for data in sets]),
        np.concatenate([[0], np.cumsum(sizes)]),
        TaskCosts.of(np.concatenate([data.programs.costs for data in sets]), np.concatenate(tasks)),
        tuple(task for data in sets for task in data.tasks),
    )


def _with_a_choice(data: LearningSet) -> list[Ints]:
    """Return the programs of each task with at least two, not all equally slow."""
    return [rows for rows in data.programs.rows() if np.ptp(data.programs.labels[rows]) > 0]


def _padded(places: Sequence[Ints]) -> Ints:
    """Return lists of places as one array, at least one wide, padded with ABSENT."""
    width = max(1, *(part.size for part in places))
    rows = np.full((len(places), width), ABSENT)
    for row, part in zip(rows, places, strict=True):
        row[: part.size] = part
    return rows
