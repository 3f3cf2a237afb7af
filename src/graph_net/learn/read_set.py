"""Read programs to learn from: a directory of records, or a data set of several platforms.

In memory are about thirty bytes of every program that is there, and the features of those that are
taken: at most ``per_task`` of each task, chosen by the hash of the schedule, which knows nothing of
costs. Schedules are streamed. Features of more than ``MOST_BYTES`` are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.learning_set import Features, LearnError, LearningSet, LearningTask
from graph_net.learn.metrics import Floats, Ints, TaskCosts
from graph_net.learn.operator_kind import task_kinds
from graph_net.learn.program_features import (
    AUTO,
    BOTH,
    IS_STORE,
    PER_STORE,
    PRIMITIVES,
    Rows,
    choose_kind,
    encoder_of,
    join_rows,
    store_columns,
)
from graph_net.learn.ranked_tasks import RepeatedCosts
from graph_net.learn.store_features import read_store_rows
from graph_net.programs.dataset.dataset import PATTERNS, platforms
from graph_net.programs.dataset.splits import SPLITS, graph_key
from graph_net.programs.formats import ReadError
from graph_net.programs.view.overview import TaskSummary, summaries, tables
from graph_net.store.sql import Sql

PER_TASK = 4096
"""Programs of a task that are taken, at most; TenSet has 4,000."""
LEAST = 2
"""Programs of a task that there is something to choose from."""
MOST_BYTES = 8 << 30
BATCH = 1024
"""Schedules that are decoded together."""
_COSTS = """SELECT task::VARCHAR AS task, program, count(*) AS times,
    arg_min(coalesce(cost, 'infinity'::DOUBLE), (again, source::VARCHAR, line)) AS cost
    FROM programs GROUP BY ALL"""
_PAIRS = """SELECT task::VARCHAR AS task, program, list(cost ORDER BY again, source, line) AS costs,
    bool_or(again) AS again FROM programs WHERE cost IS NOT NULL GROUP BY ALL HAVING count(*) > 1"""
_SCHEDULES = "SELECT task::VARCHAR, program, schedule FROM programs WHERE schedule IS NOT NULL"
Uint64s = NDArray[np.uint64]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class MeasuredSet:
    """Programs to learn from, which ones they are, and what measuring some again gave."""

    data: LearningSet
    programs: Uint64s
    """The hash of each one's schedule."""
    repeated: RepeatedCosts
    """Programs that were measured twice, all that were read: how noisy measuring is."""
    features: str
    """The kind of them, by name."""

    def take(self, wanted: Ints) -> MeasuredSet:
        """Return these programs alone; what is known of the noise stays."""
        return replace(self, data=self.data.take(wanted), programs=self.programs[wanted])


@dataclass(frozen=True)
class _Chosen:
    """The programs of a directory that are taken, sorted by task and hash."""

    tasks: tuple[TaskSummary, ...]
    task: Ints
    """Place in ``tasks``."""
    program: Uint64s
    cost: Floats
    again: Floats

    @cached_property
    def places(self) -> dict[str, int]:
        return {task.task: place for place, task in enumerate(self.tasks)}

    @cached_property
    def _starts(self) -> Ints:
        return np.searchsorted(self.task, np.arange(len(self.tasks) + 1))

    def find(self, task: str, programs: Sequence[int]) -> Ints:
        """Return the index of each program of a task; -1 for those that are not taken."""
        place = self.places.get(task)
        if place is None:
            return np.full(len(programs), -1)
        start, end = self._starts[place], self._starts[place + 1]
        mine = self.program[start:end]
        wanted = np.array(programs, np.uint64)
        found = np.searchsorted(mine, wanted).clip(max=len(mine) - 1)
        return np.where(mine[found] == wanted, found + start, -1)


def read_set(
    source: Path,
    features: str = AUTO,
    *,
    per_task: int = PER_TASK,
    cache: Path | None = None,
    tell: Tell = lambda line: None,
) -> MeasuredSet:
    """Return the programs of a directory of records, or of all platforms of a data set.

    A program that was measured again counts once, with its first measurement; one that failed has
    an infinite cost. Tasks with one program are left out, and programs without features. ``cache``
    is a feature store for what takes TVM to compute; ``tell`` hears what was left out.
    """
    folders = record_folders(source)
    known = {name: _summaries(path) for name, path in folders.items()}
    kind, found = choose_kind(
        features, {task.task: task for tasks in known.values() for task in tasks}
    )
    parts = [
        _read_folder(name, path, known[name], kind, found, per_task, cache, tell)
        for name, path in folders.items()
    ]
    return _join([part for part in parts if part is not None], source)


def record_folders(source: Path) -> dict[str, Path]:
    """Return the directories of records of a data set, by platform; or the one that was given.

    The latter has no name, unless it is a platform of a data set.
    """
    if any(source.glob(PATTERNS["programs"])):
        return {source.name if (source.parent / SPLITS).is_file() else "": source}
    if not source.is_dir():
        raise ReadError(f"{source} is not a directory of records or a data set")
    return platforms(source)


def platform_of(folder: str, task: TaskSummary) -> str:
    """Return the platform of a task: that of the data set, else its device, else its target."""
    return folder or task.device or task.target.split(" ")[0]


def _summaries(path: Path) -> list[TaskSummary]:
    with tables(path) as connection:
        return summaries(connection)


def _read_folder(
    name: str,
    path: Path,
    tasks: Sequence[TaskSummary],
    kind: str,
    found: str,
    per_task: int,
    cache: Path | None,
    tell: Tell,
) -> MeasuredSet | None:
    with tables(path) as connection:
        chosen = _choose(connection, tasks, per_task)
    label = name or str(path)
    if left := len(tasks) - len(chosen.tasks):
        tell(f"{label}: {left:,} tasks without a choice of programs are left out")
    if not chosen.tasks:
        return None
    columns, rows = _rows(path, chosen, kind, found, cache, tell)
    kept = np.flatnonzero([row is not None for row in rows])
    if lost := len(rows) - kept.size:
        tell(f"{label}: {lost:,} programs have no features {kind} and are left out")
    described = _described(name, path, chosen.tasks)
    return _assemble(chosen, columns, rows, kept, described, kind)


def _choose(connection: Sql, tasks: Sequence[TaskSummary], per_task: int) -> _Chosen:
    """Choose tasks with several programs, one of which ran, and at most so many of each."""
    numbers = {task.task: place for place, task in enumerate(tasks)}
    found = connection.arrays(_COSTS)
    task = np.array([numbers[name] for name in found["task"]], np.int64)
    program = np.asarray(found["program"]).astype(np.uint64)
    cost = np.asarray(found["cost"], np.float64)
    order = np.lexsort((program, task))
    task, program, cost = task[order], program[order], cost[order]
    rank = np.arange(task.size) - np.searchsorted(task, task)
    ran = np.bincount(task[(rank < per_task) & np.isfinite(cost)], minlength=len(tasks)) > 0
    several = np.bincount(task, minlength=len(tasks)) >= LEAST
    kept = (rank < per_task) & (ran & several)[task]
    used = np.flatnonzero(ran & several)
    renumbered = np.searchsorted(used, task[kept])
    chosen = _Chosen(
        tuple(tasks[place] for place in used.tolist()),
        renumbered,
        program[kept],
        cost[kept],
        np.full(int(kept.sum()), np.nan),
    )
    _fill_again(connection, chosen)
    return chosen


def _fill_again(connection: Sql, chosen: _Chosen) -> None:
    """Note second measurements; a line that is there twice, word for word, is a copy."""
    for task, program, costs, again in connection.execute(_PAIRS).fetchall():
        (index,) = chosen.find(task, [program])
        if index >= 0 and (again or costs[1] != costs[0]):
            chosen.again[index] = costs[1]


def _rows(
    path: Path, chosen: _Chosen, kind: str, found: str, cache: Path | None, tell: Tell
) -> tuple[tuple[str, ...], Rows]:
    """Return the names of columns, and the rows of each chosen program."""
    if kind not in (PER_STORE, BOTH):
        encoder = encoder_of(kind, found)
        return encoder.columns, _encoded(path, chosen, encoder.encode)
    stores = read_store_rows(path, chosen.tasks, chosen.find, chosen.program.size, cache, tell)
    if kind == PER_STORE:
        return store_columns(), stores
    encoder = encoder_of(PRIMITIVES, found)
    steps = _encoded(path, chosen, encoder.encode)
    joined: Rows = [
        None if one is None or other is None else join_rows(one, other)
        for one, other in zip(stores, steps, strict=True)
    ]
    return (IS_STORE, *store_columns(), *encoder.columns), joined


def _encoded(
    path: Path, chosen: _Chosen, encode: Callable[[TaskSummary, Sequence[str]], Rows]
) -> Rows:
    """Encode the schedules of chosen programs, each once, as they stream by."""
    rows: Rows = [None] * chosen.program.size
    size = 0
    for task, programs, schedules in _stream(path):
        index = chosen.find(task, programs)
        fresh = {
            place: schedule
            for place, schedule in zip(index.tolist(), schedules, strict=True)
            if place >= 0 and rows[place] is None
        }
        if not fresh:
            continue
        made = encode(chosen.tasks[chosen.places[task]], list(fresh.values()))
        for place, row in zip(fresh, made, strict=True):
            rows[place] = row
        size += sum(row.nbytes for row in made if row is not None)
        if size > MOST_BYTES:
            raise LearnError(
                f"the features of {path} take more than {MOST_BYTES >> 30} GiB: take fewer "
                "programs of a task (--per-task)"
            )
    return rows


def _stream(path: Path) -> Iterator[tuple[str, list[int], list[str]]]:
    """Yield the programs of a task and their schedules, some at a time."""
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


def _described(name: str, path: Path, tasks: Sequence[TaskSummary]) -> tuple[LearningTask, ...]:
    kinds = task_kinds(path, {task.task: task for task in tasks})
    return tuple(
        LearningTask(
            task.task,
            kinds[task.task],
            platform_of(name, task),
            {network: float(often) for network, often in task.weights.items()},
            graph_key(task),
        )
        for task in tasks
    )


def _assemble(
    chosen: _Chosen,
    columns: tuple[str, ...],
    rows: Rows,
    kept: Ints,
    described: Sequence[LearningTask],
    kind: str,
) -> MeasuredSet | None:
    """Make the set of programs that have features, of tasks that still have a choice."""
    sizes = np.bincount(chosen.task[kept], minlength=len(described))
    ran = np.bincount(chosen.task[kept][np.isfinite(chosen.cost[kept])], minlength=len(described))
    good = (sizes >= LEAST) & (ran > 0)
    kept = kept[good[chosen.task[kept]]]
    if not kept.size:
        return None
    used = np.flatnonzero(good)
    arrays: list[Features] = [row for place in kept.tolist() if (row := rows[place]) is not None]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in arrays])]).astype(np.int64)
    costs = TaskCosts.of(chosen.cost[kept], np.searchsorted(used, chosen.task[kept]))
    data = LearningSet(
        columns,
        np.concatenate(arrays),
        starts,
        costs,
        tuple(described[place] for place in used.tolist()),
    )
    repeated = RepeatedCosts.of(chosen.cost, chosen.again)
    return MeasuredSet(data, chosen.program[kept], repeated, kind)


def _join(parts: Sequence[MeasuredSet], source: Path) -> MeasuredSet:
    """Return the sets of several platforms as one."""
    if not parts:
        raise LearnError(f"{source} has no task with two programs to choose from")
    if len(parts) == 1:
        return parts[0]
    rows = np.cumsum([0, *(len(part.data.rows) for part in parts)])
    tasks = np.cumsum([0, *(len(part.data.tasks) for part in parts)])
    data = LearningSet(
        parts[0].data.columns,
        np.concatenate([part.data.rows for part in parts]),
        np.concatenate([[0], *(part.data.starts[1:] + rows[n] for n, part in enumerate(parts))]),
        TaskCosts.of(
            np.concatenate([part.data.programs.costs for part in parts]),
            np.concatenate([part.data.programs.tasks + tasks[n] for n, part in enumerate(parts)]),
        ),
        tuple(task for part in parts for task in part.data.tasks),
    )
    programs = np.concatenate([part.programs for part in parts])
    repeated = RepeatedCosts.join([part.repeated for part in parts])
    return MeasuredSet(data, programs, repeated, parts[0].features)


def tasks_by_platform(source: Path) -> Mapping[str, list[TaskSummary]]:
    """Return the tasks of each platform of a source, as splits are made of them."""
    found: dict[str, list[TaskSummary]] = {}
    for name, path in record_folders(source).items():
        for task in _summaries(path):
            found.setdefault(platform_of(name, task), []).append(task)
    return found
