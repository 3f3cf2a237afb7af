"""Features that take TVM, for a set of programs: from a feature store, computed if missing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from graph_net.isolate import Limits, Pool
from graph_net.learn.metrics import Ints
from graph_net.learn.program_features import Rows
from graph_net.programs.features.feature_kinds import FeatureKind
from graph_net.programs.features.feature_store import FeatureStore, arrays_of
from graph_net.programs.features.pipeline import Making
from graph_net.programs.view.overview import TaskSummary

SECONDS, GIGABYTES = 20, 16.0
"""Time and memory limit of one program."""
Find = Callable[[str, Sequence[int]], Ints]
"""Returns the index of each program of a task; -1 if it is not wanted."""


def read_tvm_rows(
    kind: FeatureKind,
    records: Path,
    tasks: Sequence[TaskSummary],
    find: Find,
    count: int,
    cache: Path | None,
    tell: Callable[[str], None],
) -> Rows:
    """Return the rows of each wanted program.

    A data set may hold features itself, beside its records. What is missing there is computed and
    kept in ``cache``, or without one not kept.
    """
    rows: Rows = [None] * count
    shipped = FeatureStore(records)
    with tempfile.TemporaryDirectory() as folder:
        store = FeatureStore(cache or Path(folder))
        missing = _missing(kind, records, store, shipped, {task.task for task in tasks}, find)
        if total := sum(map(len, missing.values())):
            tell(f"{records}: computing {kind.name} of {total:,} programs with TVM")
            pool = Pool(Limits.of(SECONDS, GIGABYTES))
            for _ in Making(records, store).through_tvm(kind, missing, pool):
                pass
        for source in (shipped, store):
            _read(kind, source, find, rows)
    return rows


def _missing(
    kind: FeatureKind,
    records: Path,
    store: FeatureStore,
    shipped: FeatureStore,
    tasks: set[str],
    find: Find,
) -> dict[str, list[int]]:
    """Return the wanted programs that no store has, by task."""
    wanted = {
        task: [
            program
            for program, index in zip(programs, find(task, programs), strict=True)
            if index >= 0
        ]
        for task, programs in Making(records, store).missing(kind, shipped).items()
        if task in tasks
    }
    return {task: programs for task, programs in wanted.items() if programs}


def _read(kind: FeatureKind, store: FeatureStore, find: Find, rows: Rows) -> None:
    """Fill in the rows that a store has."""
    (column,) = kind.columns
    for batch in store.batches(kind):
        values, starts = arrays_of(column, batch[column.name])
        groups: dict[str, list[int]] = {}
        for position, task in enumerate(batch["task"].to_pylist()):
            groups.setdefault(task, []).append(position)
        programs = np.asarray(batch["program"]).astype(np.uint64)
        for task, positions in groups.items():
            indices = find(task, programs[positions].tolist())
            for position, index in zip(positions, indices, strict=True):
                if index >= 0:
                    values_of_one = values[starts[position] : starts[position + 1]]
                    rows[index] = np.asarray(values_of_one, np.float32)
