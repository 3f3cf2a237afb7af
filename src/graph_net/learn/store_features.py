"""TenSet's features of stores for a set of programs: from a feature store, computed if missing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from graph_net.isolate import Limits, Pool
from graph_net.learn.metrics import Ints
from graph_net.learn.program_features import Rows
from graph_net.programs.features.feature_kinds import PER_STORE
from graph_net.programs.features.feature_store import FeatureStore, arrays_of
from graph_net.programs.features.pipeline import Making
from graph_net.programs.view.overview import TaskSummary

SECONDS, GIGABYTES = 20, 16.0
"""Time and memory limit of one program."""
Find = Callable[[str, Sequence[int]], Ints]
"""Returns the index of each program of a task; -1 if it is not wanted."""


def read_store_rows(
    records: Path,
    tasks: Sequence[TaskSummary],
    find: Find,
    count: int,
    cache: Path | None,
    tell: Callable[[str], None],
) -> Rows:
    """Return the rows of each wanted program; without ``cache``, computed and not stored."""
    with tempfile.TemporaryDirectory() as place:
        store = FeatureStore(cache or Path(place))
        _compute_missing(records, store, {task.task for task in tasks}, find, tell)
        return _read(store, find, count)


def _compute_missing(
    records: Path, store: FeatureStore, tasks: set[str], find: Find, tell: Callable[[str], None]
) -> None:
    making = Making(records, store)
    missing = {
        task: [
            program
            for program, index in zip(programs, find(task, programs), strict=True)
            if index >= 0
        ]
        for task, programs in making.missing_stores().items()
        if task in tasks
    }
    missing = {task: programs for task, programs in missing.items() if programs}
    if total := sum(map(len, missing.values())):
        tell(f"{records}: computing the features of {total:,} programs with TVM")
        for _ in making.per_store(missing, Pool(Limits.of(SECONDS, GIGABYTES))):
            pass


def _read(store: FeatureStore, find: Find, count: int) -> Rows:
    rows: Rows = [None] * count
    (column,) = PER_STORE.columns
    for batch in store.batches(PER_STORE):
        values, starts = arrays_of(column, batch[column.name])
        groups: dict[str, list[int]] = {}
        for place, task in enumerate(batch["task"].to_pylist()):
            groups.setdefault(task, []).append(place)
        programs = np.asarray(batch["program"]).astype(np.uint64)
        for task, places in groups.items():
            for place, index in zip(places, find(task, programs[places].tolist()), strict=True):
                if index >= 0:
                    found = values[starts[place] : starts[place + 1]]
                    rows[index] = np.asarray(found, np.float32)
    return rows
