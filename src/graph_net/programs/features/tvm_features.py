"""Features that take TVM: schedules are replayed, or compiled, in confined processes.

Workers are forked from a process that loads TVM once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.isolate import Batch, Limits, Pool, WorkPool
from graph_net.programs.features import compiled_code, per_store
from graph_net.programs.features.failures import Lost, found_or_lost
from graph_net.programs.features.feature_kinds import MACHINE_CODE, PER_STORE, FeatureKind
from graph_net.programs.spaces import Workload

Extractor = Callable[[str], bytes]
"""From a schedule of a task to its numbers, as float32 bytes."""
BATCH = 64
"""Programs per process; making the space of a task costs about as much as ten programs."""
POOL = Pool(Limits.of(20, 16.0))
"""Default limits of one program and one process."""
EXTRACTORS: Mapping[str, Callable[[Workload, str], Extractor]] = {
    PER_STORE.name: per_store.extractor,
    MACHINE_CODE.name: compiled_code.extractor,
}
"""By the name of a kind: from a workload and a target to its extractor."""


@dataclass(frozen=True)
class TaskSchedules:
    """The schedules of one task, with its workload and target."""

    task: str
    workload: Workload
    target: str
    schedules: tuple[str, ...]


def extract(
    kind: FeatureKind, subjects: Iterable[TaskSchedules], pool: WorkPool | None = None
) -> Iterator[tuple[str, str, NDArray[np.float32] | Lost]]:
    """Yield (task, schedule, rows) for each program, with the reason if it has no features."""
    pool = pool or POOL
    if pool.forks_here:
        warm_up()
    (column,) = kind.columns
    for done in pool.batches(_batches(kind, subjects)):
        yield *done.item, found_or_lost(done, partial(_array, column.width))


def warm_up() -> None:
    """Import what every worker needs before forking."""
    import graph_net.programs.spaces.metaschedule  # noqa: F401

    load_intrinsics()


def _array(width: int, answer: bytes) -> NDArray[np.float32]:
    return np.frombuffer(answer, np.float32).reshape(-1, width)


def _batches(
    kind: FeatureKind, subjects: Iterable[TaskSchedules]
) -> Iterator[Batch[tuple[str, str]]]:
    for subject in subjects:
        prepare = partial(_prepared, kind.name, subject)
        for start in range(0, len(subject.schedules), BATCH):
            some = subject.schedules[start : start + BATCH]
            yield Batch(prepare, tuple((subject.task, schedule) for schedule in some))


def _prepared(kind: str, subject: TaskSchedules) -> Callable[[tuple[str, str]], bytes]:
    work = EXTRACTORS[kind](subject.workload, subject.target)
    return lambda item: work(item[1])
