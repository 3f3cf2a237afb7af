"""Details of a task: the times and failures of its programs, the best and a typical one.

Reads only the rows of the given tasks, and the schedules of two programs per task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.spaces import Workload
from graph_net.programs.view.overview import TaskSummary, summaries

if TYPE_CHECKING:
    from graph_net.store.sql import Sql

MESSAGE = 600
"""Most characters of a message."""
KINDS = 12
"""Kinds of failure that are listed separately; a message is an example of its kind."""


@dataclass(frozen=True)
class ShownProgram:
    """One program of a task; its schedule is empty if the file was ingested without schedules."""

    program: int
    cost: float
    costs: tuple[float, ...]
    schedule: str
    extra: str


@dataclass(frozen=True)
class FailureKind:
    """Failures at one stage with one symptom."""

    stage: str
    symptom: str
    count: int
    message: str


@dataclass(frozen=True)
class TaskView:
    """The details of a task."""

    summary: TaskSummary
    costs: NDArray[np.float64]
    """Costs of every program that ran, sorted."""
    noise: float | None
    """Typical standard deviation of a program's repeats, as a share of their mean."""
    repeats: int
    """Most repeats of a program that ran."""
    failures: tuple[FailureKind, ...]
    best: ShownProgram | None
    typical: ShownProgram | None
    """The median program; of an even number, the faster of the middle two."""
    module: str | None
    """The computation as its space writes it; None if no file has it."""

    @property
    def workload(self) -> Workload | None:
        """The workload that the task's space is made of, if known."""
        if self.module is None:
            return None
        of = self.summary
        return Workload(of.format, of.name, of.workload, self.module, of.flops)


def views(connection: Sql, tasks: Sequence[str]) -> list[TaskView]:
    """Return the tasks of these hashes, in this order."""
    wanted = list(dict.fromkeys(tasks))
    if not wanted:
        return []
    known = {summary.task: summary for summary in summaries(connection, wanted)}
    noise = _noise(connection, wanted)
    failures = _failures(connection, wanted)
    costs = _costs(connection, wanted)
    chosen = _chosen(connection, wanted)
    modules = _modules(connection, [known[task] for task in wanted])
    found = []
    for task in wanted:
        spread, repeats = noise.get(task, (None, 0))
        best, typical = chosen.get(task, (None, None))
        found.append(
            TaskView(
                known[task],
                costs.get(task, np.empty(0)),
                spread,
                repeats,
                tuple(failures.get(task, ())),
                best,
                typical,
                modules.get(known[task].workload),
            )
        )
    return found


def _of(tasks: list[str]) -> str:
    """Return SQL that selects the first measurements of the given tasks."""
    return f"FROM programs WHERE NOT again AND task IN ({', '.join('?' * len(tasks))})"


def _noise(connection: Sql, tasks: list[str]) -> dict[str, tuple[float | None, int]]:
    rows = connection.execute(
        "SELECT task, median(list_aggregate(costs, 'stddev_samp') / cost) "
        "FILTER (len(costs) > 1), max(len(costs)) "
        f"{_of(tasks)} AND cost IS NOT NULL GROUP BY task",
        tasks,
    ).fetchall()
    return {task: (noise, repeats) for task, noise, repeats in rows}


def _failures(connection: Sql, tasks: list[str]) -> dict[str, list[FailureKind]]:
    found: dict[str, list[FailureKind]] = {}
    rows = connection.execute(
        "SELECT task, stage, symptom, count(*), arg_min(message, (source, line)) "
        f"{_of(tasks)} AND status = 'failed' GROUP BY ALL ORDER BY count(*) DESC, stage, symptom",
        tasks,
    ).fetchall()
    for task, stage, symptom, count, message in rows:
        kinds = found.setdefault(task, [])
        if len(kinds) < KINDS:
            kinds.append(FailureKind(stage, symptom, count, (message or "")[:MESSAGE]))
    return found


def _costs(connection: Sql, tasks: list[str]) -> dict[str, NDArray[np.float64]]:
    rows = connection.execute(
        f"SELECT task, list_sort(list(cost)) {_of(tasks)} AND cost IS NOT NULL GROUP BY task",
        tasks,
    ).fetchall()
    return {task: np.array(costs) for task, costs in rows}


def _chosen(connection: Sql, tasks: list[str]) -> dict[str, tuple[ShownProgram, ShownProgram]]:
    """Return the best and the typical program of each task; only their schedules are decoded."""
    rows = connection.execute(
        "WITH ran AS (SELECT task, source, line, program, "  # noqa: S608 - fixed text
        "row_number() OVER (PARTITION BY task ORDER BY cost, source, line) AS place, "
        f"count(*) OVER (PARTITION BY task) AS total {_of(tasks)} AND cost IS NOT NULL), "
        "two AS (SELECT * FROM ran WHERE place IN (1, (total + 1) // 2)) "
        "SELECT task, place, program, cost, costs, coalesce(schedule, ''), coalesce(extra, '') "
        "FROM programs JOIN two USING (task, source, line, program) ORDER BY task, place",
        tasks,
    ).fetchall()
    found: dict[str, list[ShownProgram]] = {}
    for task, _, program, cost, costs, schedule, extra in rows:
        found.setdefault(task, []).append(
            ShownProgram(program, cost, tuple(costs), schedule, extra)
        )
    return {task: (both[0], both[-1]) for task, both in found.items()}


def _modules(connection: Sql, of: Sequence[TaskSummary]) -> dict[str, str]:
    workloads = list({summary.workload for summary in of})
    rows: list[Any] = connection.execute(
        "SELECT workload, any_value(module) FROM workloads "  # noqa: S608 - fixed text
        f"WHERE workload IN ({', '.join('?' * len(workloads))}) GROUP BY workload",
        workloads,
    ).fetchall()
    return dict(rows)
