"""TenSet's features of a program: 164 numbers for each store to a buffer, through TVM.

They describe the loops around a store after scheduling, so the schedule is replayed. That needs TVM
and takes a hundred times as long as ``programs.spaces.primitives``. Nothing is compiled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.isolate import Batch, Limits, Pool, WorkPool
from graph_net.programs.features.failures import Lost, found_or_lost
from graph_net.programs.spaces import Workload

WIDTH = 164
VERSION = 1
BUFFERS, CURVE, CACHE_LINE = 5, 10, 64
"""Buffers described per store, points of the intensity curve, bytes per cache line."""
GROUPS = {
    "computation": (0, 57),
    "buffers": (57, 147),
    "intensity": (147, 157),
    "allocation": (157, 161),
    "outer": (161, 164),
}
"""Column range of each group: first, and one past the last."""
MOST_STORES = 64
"""Most stores of a program; one with more gets no features, as a model could not hold it."""
BATCH = 64
"""Programs per process; making the space of a task costs about as much as ten programs."""

POOL = Pool(Limits.of(20, 16.0))
"""Default limits of one program and one process."""


@dataclass(frozen=True)
class TaskSchedules:
    """The schedules of one task, with its workload and target."""

    task: str
    workload: Workload
    target: str
    schedules: tuple[str, ...]


def extract(
    subjects: Iterable[TaskSchedules], pool: WorkPool | None = None
) -> Iterator[tuple[str, str, NDArray[np.float32] | Lost]]:
    """Yield (task, schedule, stores × 164) for each program, with the reason if it has no features.

    Workers are forked from a process that loads TVM once.
    """
    pool = pool or POOL
    if pool.forks_here:
        warm_up()
    for done in pool.batches(_batches(subjects)):
        yield *done.item, found_or_lost(done, _array)


def warm_up() -> None:
    """Import what every worker needs before forking."""

    import graph_net.programs.spaces.metaschedule  # noqa: F401

    load_intrinsics()


def _array(answer: bytes) -> NDArray[np.float32]:
    return np.frombuffer(answer, np.float32).reshape(-1, WIDTH)


def _batches(subjects: Iterable[TaskSchedules]) -> Iterator[Batch[tuple[str, str]]]:
    for subject in subjects:
        prepare = partial(_prepared, subject)
        for start in range(0, len(subject.schedules), BATCH):
            some = subject.schedules[start : start + BATCH]
            yield Batch(prepare, tuple((subject.task, schedule) for schedule in some))


def _prepared(subject: TaskSchedules) -> Callable[[tuple[str, str]], bytes]:
    work = extractor(subject.workload, subject.target)
    return lambda item: work(item[1])


def extractor(workload: Workload, target: str) -> Callable[[str], bytes]:
    """Return a function from a schedule of a workload to its features, as float32 bytes."""
    from tvm.s_tir.meta_schedule import MeasureCandidate, TuneContext
    from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature
    from tvm.target import Target

    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    space = MetaScheduleSpace(workload, target)
    features = PerStoreFeature(BUFFERS, CURVE, CACHE_LINE)
    context = TuneContext(space.module, target=Target(json.loads(space.target)), num_threads=1)

    def work(schedule: str) -> bytes:
        candidate = MeasureCandidate(space.schedule(schedule), [])
        (found,) = features.extract_from(context, [candidate])
        array = np.asarray(found.numpy(), np.float32)
        if not 0 < len(array) <= MOST_STORES or array.shape[1] != WIDTH:
            raise ValueError(f"features of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("features that are no numbers")
        return array.tobytes()

    return work
