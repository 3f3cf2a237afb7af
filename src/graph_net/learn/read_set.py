"""Read programs to learn from: a store, or a data set of several platforms.

Memory holds about thirty bytes of every program, and the features of the chosen ones: at most
``per_task`` of each task, chosen by the hash of the schedule, independent of costs. Schedules are
streamed. Features of more than ``MOST_BYTES`` are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from graph_net.learn.chosen_programs import (
    LEAST,
    ChosenPrograms,
    choose_programs,
    stream_schedules,
)
from graph_net.learn.learning_set import Features, LearnError, LearningSet, LearningTask
from graph_net.learn.measured_set import MeasuredSet, join_sets
from graph_net.learn.metrics import Ints, TaskCosts
from graph_net.learn.operator_kind import task_kinds
from graph_net.learn.program_features import (
    AUTO,
    BOTH,
    CODE,
    IS_STORE,
    PER_STORE,
    PRIMITIVES,
    TILES,
    Rows,
    beside,
    choose_kind,
    encoder_of,
    join_rows,
    store_columns,
)
from graph_net.learn.ranked_tasks import RepeatedCosts
from graph_net.learn.record_folders import platform_of, read_tasks, record_folders
from graph_net.learn.tvm_rows import read_tvm_rows
from graph_net.programs.dataset.splits import graph_key
from graph_net.programs.features import code_features, feature_kinds
from graph_net.programs.features.feature_kinds import FeatureKind
from graph_net.programs.view.overview import TaskSummary, tables

PER_TASK = 4096
"""Most programs taken from one task; TenSet has 4,000."""
MOST_BYTES = 8 << 30
Tell = Callable[[str], None]


def read_set(
    source: Path,
    features: str = AUTO,
    *,
    per_task: int = PER_TASK,
    cache: Path | None = None,
    tell: Tell = lambda line: None,
) -> MeasuredSet:
    """Return the programs of a store, or of all platforms of a data set.

    A program measured twice counts once, with its first measurement; a failure has an infinite
    cost. Tasks with one program and programs without features are left out. ``cache`` is a feature
    store for features that need TVM; ``tell`` is called with what was left out.
    """
    folders = record_folders(source)
    tasks_by_platform = {name: read_tasks(path) for name, path in folders.items()}
    kind, task_format = choose_kind(
        features, {task.task: task for tasks in tasks_by_platform.values() for task in tasks}
    )
    parts = [
        _read_folder(name, path, tasks_by_platform[name], kind, task_format, per_task, cache, tell)
        for name, path in folders.items()
    ]
    found_parts = [part for part in parts if part is not None]
    if not found_parts:
        raise LearnError(f"{source} has no task with two programs to choose from")
    return join_sets(found_parts)


def _read_folder(
    name: str,
    path: Path,
    tasks: Sequence[TaskSummary],
    kind: str,
    task_format: str,
    per_task: int,
    cache: Path | None,
    tell: Tell,
) -> MeasuredSet | None:
    with tables(path) as connection:
        chosen = choose_programs(connection, tasks, per_task)
    label = name or str(path)
    if left := len(tasks) - len(chosen.tasks):
        tell(f"{label}: {left:,} tasks without a choice of programs are left out")
    if not chosen.tasks:
        return None
    columns, rows = _rows(path, chosen, kind, task_format, cache, tell)
    kept = np.flatnonzero([row is not None for row in rows])
    if lost := len(rows) - kept.size:
        tell(f"{label}: {lost:,} programs have no features {kind} and are left out")
    described = _described(name, path, chosen.tasks)
    return _assemble(chosen, columns, rows, kept, described, kind)


def _rows(
    path: Path, chosen: ChosenPrograms, kind: str, task_format: str, cache: Path | None, tell: Tell
) -> tuple[tuple[str, ...], Rows]:
    """Return the names of columns, and the rows of each chosen program."""

    def through_tvm(wanted: FeatureKind) -> Rows:
        return read_tvm_rows(
            wanted, path, chosen.tasks, chosen.find, chosen.program.size, cache, tell
        )

    if kind == PER_STORE:
        return store_columns(), through_tvm(feature_kinds.PER_STORE)
    if kind == CODE:
        encoder = encoder_of(TILES, task_format)
        code = through_tvm(feature_kinds.MACHINE_CODE)
        tiles = _encoded(path, chosen, encoder.encode)
        return (*encoder.columns, *code_features.COLUMNS), _joined(tiles, code, beside)
    if kind == BOTH:
        encoder = encoder_of(PRIMITIVES, task_format)
        stores = through_tvm(feature_kinds.PER_STORE)
        steps = _encoded(path, chosen, encoder.encode)
        return (IS_STORE, *store_columns(), *encoder.columns), _joined(stores, steps, join_rows)
    encoder = encoder_of(kind, task_format)
    return encoder.columns, _encoded(path, chosen, encoder.encode)


def _joined(left: Rows, right: Rows, join: Callable[[Features, Features], Features]) -> Rows:
    """Return the rows of both, of programs that have both."""
    return [
        None if one is None or other is None else join(one, other)
        for one, other in zip(left, right, strict=True)
    ]


def _encoded(
    path: Path, chosen: ChosenPrograms, encode: Callable[[TaskSummary, Sequence[str]], Rows]
) -> Rows:
    """Encode the schedules of chosen programs, each once, while streaming."""
    rows: Rows = [None] * chosen.program.size
    size = 0
    for task, programs, schedules in stream_schedules(path):
        index = chosen.find(task, programs)
        fresh = {
            program: schedule
            for program, schedule in zip(index.tolist(), schedules, strict=True)
            if program >= 0 and rows[program] is None
        }
        if not fresh:
            continue
        encoded = encode(chosen.tasks[chosen.places[task]], list(fresh.values()))
        for program, row in zip(fresh, encoded, strict=True):
            rows[program] = row
        size += sum(row.nbytes for row in encoded if row is not None)
        if size > MOST_BYTES:
            raise LearnError(
                f"the features of {path} take more than {MOST_BYTES >> 30} GiB: take fewer "
                "programs of a task (--per-task)"
            )
    return rows


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
    chosen: ChosenPrograms,
    columns: tuple[str, ...],
    rows: Rows,
    kept: Ints,
    described: Sequence[LearningTask],
    kind: str,
) -> MeasuredSet | None:
    """Make the set of the programs with features, in tasks that still have a choice."""
    sizes = np.bincount(chosen.task[kept], minlength=len(described))
    ran = np.bincount(chosen.task[kept][np.isfinite(chosen.cost[kept])], minlength=len(described))
    good = (sizes >= LEAST) & (ran > 0)
    kept = kept[good[chosen.task[kept]]]
    if not kept.size:
        return None
    used = np.flatnonzero(good)
    arrays: list[Features] = [
        row for program in kept.tolist() if (row := rows[program]) is not None
    ]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in arrays])]).astype(np.int64)
    costs = TaskCosts.of(chosen.cost[kept], np.searchsorted(used, chosen.task[kept]))
    data = LearningSet(
        columns,
        np.concatenate(arrays),
        starts,
        costs,
        tuple(described[task] for task in used.tolist()),
    )
    repeated = RepeatedCosts.of(chosen.cost, chosen.again)
    return MeasuredSet(data, chosen.program[kept], repeated, kind)
