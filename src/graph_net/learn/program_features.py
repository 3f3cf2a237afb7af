"""The features a model can learn from, by name: their columns, and how programs become rows.

    triton                  one row: the numbers of TritonSpace.encode
    ansor_gpu               one row: how an Ansor program fills a GPU whose limits are known
    tiles                   one row: the loops that a MetaSchedule program makes on a CPU
    tiles+code              one row: the same, and what LLVM makes of it, compiled and not run
    primitives              a row per primitive of a schedule (MetaSchedule or Ansor), no padding
    per_store               a row per store to a buffer, computed by TVM and kept in a feature store
    per_store+primitives    both in one matrix: columns ``store.…`` and ``step.…``, one ``is_store``
    auto                    the first of these that fits the tasks, but never what takes TVM

Another kind is an entry of ``ENCODERS``: its columns, and a function from schedules to rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from graph_net.learn.learning_set import Features, LearnError
from graph_net.programs.features.per_store import WIDTH as STORE_WIDTH
from graph_net.programs.spaces import SpaceError, ansor_gpu, ansor_steps, loop_tiles, primitives
from graph_net.programs.spaces.gpus import find_gpu
from graph_net.programs.triton.features import NAMES as TRITON_NAMES
from graph_net.programs.triton.space import TritonSpace, workload_of
from graph_net.programs.view.overview import TaskSummary

AUTO, TRITON, PRIMITIVES, ANSOR_GPU = "auto", "triton", "primitives", "ansor_gpu"
TILES, CODE = "tiles", "tiles+code"
PER_STORE, BOTH = "per_store", "per_store+primitives"
KINDS = (AUTO, TRITON, ANSOR_GPU, TILES, CODE, PRIMITIVES, PER_STORE, BOTH)
STORE, STEP, IS_STORE = "store.", "step.", "is_store"
METASCHEDULE, ANSOR = "metaschedule", "ansor"
MOST_CORES = 4096
Rows = list[Features | None]
"""Of each schedule, an array of its rows; None where it has no features."""
Encode = Callable[[TaskSummary, Sequence[str]], Rows]


@dataclass(frozen=True)
class ScheduleEncoder:
    """Features that a schedule alone gives, with what is known of its task."""

    columns: tuple[str, ...]
    encode: Encode


def choose_kind(kind: str, tasks: Mapping[str, TaskSummary]) -> tuple[str, str]:
    """Return the kind of features that was asked for and the format of all tasks, checked."""
    if kind not in KINDS:
        raise LearnError(f"unknown features {kind!r}; available: {', '.join(KINDS)}")
    formats = sorted({task.format for task in tasks.values()})
    if len(formats) != 1:
        raise LearnError(
            f"tasks of {' and '.join(formats)} have no features in common: name one platform, or "
            "a directory of records of one format"
        )
    (found,) = formats
    known = _fitting(found, tasks.values())
    if not known or kind not in (AUTO, *known):
        raise LearnError(
            f"tasks of {found} have no features {kind}; they have: {', '.join(known) or 'none'}"
        )
    return known[0] if kind == AUTO else kind, found


def _fitting(found: str, tasks: Iterable[TaskSummary]) -> tuple[str, ...]:
    """Return the kinds of features that programs of these tasks, all of one format, have."""
    if found == TRITON:
        return (TRITON,)
    if found == METASCHEDULE:
        on_cpu = all(cores_of(task.target) for task in tasks)
        return (*([TILES, CODE] if on_cpu else []), PRIMITIVES, PER_STORE, BOTH)
    if found != ANSOR:
        return ()
    devices = {task.device for task in tasks}
    return (ANSOR_GPU, PRIMITIVES) if all(map(_is_known_gpu, devices)) else (PRIMITIVES,)


def _is_known_gpu(device: str) -> bool:
    try:
        find_gpu(device)
    except SpaceError:
        return False
    return True


def cores_of(target: str) -> int:
    """Return the cores of one of TVM's targets that is a CPU, within bounds; 0 for any other."""
    try:
        tree = json.loads(target)
        cores = int(tree.get("num-cores", 1))
        return min(max(cores, 1), MOST_CORES) if tree["kind"] == "llvm" else 0
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return 0


def encoder_of(kind: str, found: str) -> ScheduleEncoder:
    """Return the encoder of a kind of features for the schedules of a format."""
    return ENCODERS[kind, found]()


def store_columns() -> tuple[str, ...]:
    """Return names for the numbers of a store, by their place."""
    return tuple(f"{STORE}{place:03}" for place in range(STORE_WIDTH))


def beside(left: Features, right: Features) -> Features:
    """Return the columns of two kinds that have one row each, side by side."""
    return np.concatenate([left, right], axis=1)


def join_rows(stores: Features, steps: Features) -> Features:
    """Return the rows of both kinds in one matrix: zeros in the other's columns."""
    width = 1 + stores.shape[1] + steps.shape[1]
    joined = np.zeros((len(stores) + len(steps), width), np.float32)
    joined[: len(stores), 0] = 1
    joined[: len(stores), 1 : 1 + stores.shape[1]] = stores
    joined[len(stores) :, 1 + stores.shape[1] :] = steps
    return joined


def _triton() -> ScheduleEncoder:
    space_of = cache(_space_of)

    def encode(task: TaskSummary, schedules: Sequence[str]) -> Rows:
        try:
            space = space_of(task.details, task.target)
        except (ValueError, AttributeError, RecursionError):  # a stranger's task
            return [None] * len(schedules)
        return _together(schedules, space.encode_many)

    return ScheduleEncoder(tuple(TRITON_NAMES), encode)


def _space_of(details: str, target: str) -> TritonSpace:
    module = json.loads(details).get("module")
    if not isinstance(module, dict):
        raise SpaceError("a task that does not say what its kernel computes")
    return TritonSpace(workload_of(module), target)


def _ansor_gpu() -> ScheduleEncoder:
    def encode(task: TaskSummary, schedules: Sequence[str]) -> Rows:
        gpu = find_gpu(task.device)
        return _together(schedules, lambda some: ansor_gpu.encode_gpu(task.workload, some, gpu))

    return ScheduleEncoder(ansor_gpu.NAMES, encode)


def _tiles() -> ScheduleEncoder:
    encoder_for = cache(loop_tiles.LoopTileEncoder)

    def encode(task: TaskSummary, schedules: Sequence[str]) -> Rows:
        return _together(schedules, encoder_for(cores_of(task.target)).encode)

    return ScheduleEncoder(tuple(loop_tiles.COLUMNS), encode)


def _together(schedules: Sequence[str], encode: Callable[[Sequence[str]], Features]) -> Rows:
    """Return one row for each schedule; where one is damaged, the others one by one."""
    try:
        rows = np.asarray(encode(schedules), np.float32)
    except SpaceError:
        if len(schedules) == 1:
            return [None]
        return [_together([schedule], encode)[0] for schedule in schedules]
    return list(rows[:, None])


def _traces() -> ScheduleEncoder:
    encoder = primitives.TraceEncoder()
    names = [
        *primitives.KINDS,
        *(f"other_primitive_{place}" for place in range(primitives.OTHER_KINDS)),
        *primitives.WORDS,
        *(f"other_word_{place}" for place in range(primitives.OTHER_WORDS)),
        "arguments",
        *(f"{what}_{n}" for n in range(primitives.REFERENCES) for what in ("age", "result")),
        *(f"number_{place}" for place in range(primitives.NUMBERS)),
    ]
    return ScheduleEncoder(
        tuple(STEP + name for name in names),
        lambda task, schedules: _trimmed(schedules, encoder.encode),
    )


def _steps() -> ScheduleEncoder:
    names = [*ansor_steps.KINDS, "other", *(f"number_{n}" for n in range(ansor_steps.NUMBERS))]
    return ScheduleEncoder(
        tuple(STEP + name for name in names),
        lambda task, schedules: _trimmed(schedules, ansor_steps.encode_steps),
    )


def _trimmed(schedules: Sequence[str], encode: Callable[[Sequence[str]], Features]) -> Rows:
    """Return sequences without their padding; where one is damaged, the others one by one."""
    try:
        arrays = encode(schedules)
    except SpaceError:
        if len(schedules) == 1:
            return [None]
        return [_trimmed([schedule], encode)[0] for schedule in schedules]
    used = np.any(arrays != 0, axis=2)
    ends = np.where(used.any(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1), 1)
    return [array[:end].copy() for array, end in zip(arrays, ends, strict=True)]


ENCODERS: dict[tuple[str, str], Callable[[], ScheduleEncoder]] = {
    (TRITON, TRITON): _triton,
    (ANSOR_GPU, ANSOR): _ansor_gpu,
    (TILES, METASCHEDULE): _tiles,
    (PRIMITIVES, METASCHEDULE): _traces,
    (PRIMITIVES, ANSOR): _steps,
}
"""By the kind of features and the format of schedules."""
