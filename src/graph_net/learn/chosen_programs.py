"""Choose the programs of a store to learn from, with their costs, and stream their schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from graph_net.learn.measured_set import Uint64s
from graph_net.learn.metrics import Floats, Ints
from graph_net.programs.view.overview import TaskSummary, tables
from graph_net.store.sql import Sql

LEAST = 2
"""Least programs of a task that leave a choice."""
BATCH = 1024
"""Schedules that are decoded together."""
_COSTS = """SELECT task::VARCHAR AS task, program,
    arg_min(coalesce(cost, 'infinity'::DOUBLE), (again, source::VARCHAR, line)) AS cost
    FROM programs GROUP BY ALL"""
_PAIRS = """SELECT task::VARCHAR AS task, program, list(cost ORDER BY again, source, line) AS costs,
    bool_or(again) AS again FROM programs WHERE cost IS NOT NULL GROUP BY ALL HAVING count(*) > 1"""
_SCHEDULES = "SELECT task::VARCHAR, program, schedule FROM programs WHERE schedule IS NOT NULL"


@dataclass(frozen=True)
class ChosenPrograms:
    """The chosen programs of a store, sorted by task and hash."""

    tasks: tuple[TaskSummary, ...]
    task: Ints
    """Index into ``tasks``."""
    program: Uint64s
    cost: Floats
    again: Floats

    @cached_property
    def places(self) -> dict[str, int]:
        """Index of each task, by its hash."""
        return {task.task: place for place, task in enumerate(self.tasks)}

    @cached_property
    def _starts(self) -> Ints:
        return np.searchsorted(self.task, np.arange(len(self.tasks) + 1))

    def find(self, task: str, programs: Sequence[int]) -> Ints:
        """Return the index of each program of a task; -1 if it was not chosen."""
        place = self.places.get(task)
        if place is None:
            return np.full(len(programs), -1)
        start, end = self._starts[place], self._starts[place + 1]
        mine = self.program[start:end]
        wanted = np.array(programs, np.uint64)
        found = np.searchsorted(mine, wanted).clip(max=len(mine) - 1)
        return np.where(mine[found] == wanted, found + start, -1)


def choose_programs(connection: Sql, tasks: Sequence[TaskSummary], per_task: int) -> ChosenPrograms:
    """Choose tasks with several programs, one of which ran, and at most ``per_task`` of each."""
    numbers = {task.task: place for place, task in enumerate(tasks)}
    found = connection.arrays(_COSTS)
    task = np.array([numbers.get(name, -1) for name in found["task"]], np.int64)
    program = np.asarray(found["program"]).astype(np.uint64)
    cost = np.asarray(found["cost"], np.float64)
    order = np.lexsort((program, task))[np.count_nonzero(task < 0) :]
    task, program, cost = task[order], program[order], cost[order]
    rank = np.arange(task.size) - np.searchsorted(task, task)
    ran = np.bincount(task[(rank < per_task) & np.isfinite(cost)], minlength=len(tasks)) > 0
    several = np.bincount(task, minlength=len(tasks)) >= LEAST
    kept = (rank < per_task) & (ran & several)[task]
    used = np.flatnonzero(ran & several)
    renumbered = np.searchsorted(used, task[kept])
    chosen = ChosenPrograms(
        tuple(tasks[place] for place in used.tolist()),
        renumbered,
        program[kept],
        cost[kept],
        np.full(int(kept.sum()), np.nan),
    )
    _fill_again(connection, chosen)
    return chosen


def _fill_again(connection: Sql, chosen: ChosenPrograms) -> None:
    """Fill in second measurements; a line repeated verbatim is a copy, not a measurement."""
    for task, program, costs, again in connection.execute(_PAIRS).fetchall():
        (index,) = chosen.find(task, [program])
        if index >= 0 and (again or costs[1] != costs[0]):
            chosen.again[index] = costs[1]


def stream_schedules(path: Path) -> Iterator[tuple[str, list[int], list[str]]]:
    """Yield programs of a task and their schedules, in batches."""
    with tables(path) as connection:
        asked = connection.execute(_SCHEDULES)
        while some := asked.fetchmany(BATCH):
            groups: dict[str, tuple[list[int], list[str]]] = {}
            for task, program, schedule in some:
                programs, schedules = groups.setdefault(task, ([], []))
                programs.append(program)
                schedules.append(schedule)
            for task, (programs, schedules) in groups.items():
                yield task, programs, schedules
