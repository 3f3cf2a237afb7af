"""Spaces for replayed searches: measured programs of a data set, files of Kernel Tuner."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from graph_net.learn.chosen_programs import stream_schedules
from graph_net.learn.learning_set import Features, LearningTask, tabular_set
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.record_folders import record_folders
from graph_net.programs.formats.t4 import read_t4
from graph_net.results import Program
from graph_net.search.measurer import ReplayMeasurer, SearchError
from graph_net.search.parameters import DIVISOR, parameter_columns
from graph_net.search.search_space import ListedSpace


@dataclass(frozen=True)
class ReplayedTask:
    """A task of which all or many programs were measured."""

    name: str
    space: ListedSpace
    measurer: ReplayMeasurer


def replay_set(measured: MeasuredSet, source: Path) -> list[ReplayedTask]:
    """Return the tasks of a set that was read from ``source``, with their schedules."""
    texts = {
        (task, program): schedule
        for path in record_folders(source).values()
        for task, programs, schedules in stream_schedules(path)
        for program, schedule in zip(programs, schedules, strict=True)
    }
    tasks = []
    for number, (task, rows) in enumerate(
        zip(measured.data.tasks, measured.data.programs.rows(), strict=True)
    ):
        schedules = tuple(texts[task.name, int(measured.programs[row])] for row in rows)
        space = ListedSpace(schedules, measured.data.select([number]))
        costs = dict(zip(schedules, measured.data.programs.costs[rows].tolist(), strict=True))
        tasks.append(ReplayedTask(task.name, space, ReplayMeasurer(costs)))
    return tasks


def replay_t4(path: Path, device: str = "") -> ReplayedTask:
    """Return the task of a Kernel Tuner file, with its configurations as numbers."""
    costs: dict[str, float] = {}
    for _, program in read_t4(path):
        if isinstance(program, Program):
            costs[program.schedule] = fmean(program.costs) if program.costs else math.inf
    if not costs:
        raise SearchError(f"{path} holds no programs of Kernel Tuner")
    schedules = sorted(costs)
    names, rows = encode_parameters([json.loads(schedule) for schedule in schedules])
    task = LearningTask(device or path.name, "kernel_tuner", device)
    ordered = [costs[schedule] for schedule in schedules]
    data = tabular_set(names, rows, ordered, np.zeros(len(rows), np.int64), [task])
    return ReplayedTask(task.name, ListedSpace(tuple(schedules), data), ReplayMeasurer(costs))


def encode_parameters(configs: Sequence[Mapping[str, Any]]) -> tuple[list[str], Features]:
    """Return the parameters that vary as numbers, with their names.

    Block and tile sizes, by Kernel Tuner's names, are also multiplied: threads per block, and
    points per thread.
    """
    columns: dict[str, list[float]] = {}
    for mine in parameter_columns(configs).values():
        columns.update(mine)
    for word in ("block_size", "tile_size"):
        parts = [column for name, column in columns.items() if _is_part(name, word)]
        if len(parts) > 1:
            columns[f"{word} product"] = np.sum(parts, axis=0).tolist()
    names, kept = [], []
    for name, column in columns.items():
        if np.ptp(column) > 0 and column not in kept:
            names.append(name)
            kept.append(column)
    return names, np.array(kept, np.float32).T


def _is_part(name: str, word: str) -> bool:
    return name.startswith(word) and not name.endswith(DIVISOR)
