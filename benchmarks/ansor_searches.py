"""Searches of Ansor on two GPUs as arrays: for benchmarks of what learns from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.formats.ansor import read_ansor
from graph_net.programs.spaces.ansor_gpu import encode_gpu
from graph_net.programs.spaces.ansor_operations import operation_of
from graph_net.programs.spaces.ansor_steps import encode_steps
from graph_net.programs.spaces.gpus import find_gpu
from graph_net.results import Program

PLATFORMS = ("k80", "v100")
KINDS = ("conv", "depthwise", "matmul")
Floats = NDArray[np.float32]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Searched:
    """A task's programs, in the order of the search, as both kinds of features have them."""

    platform: str
    kind: str
    computation: int
    costs: Values
    ours: Floats
    steps: Floats

    @property
    def labels(self) -> Values:
        """Least cost / cost."""
        return np.asarray(self.costs.min() / self.costs)


def read_tasks(data: Path, output: Path, jobs: int) -> list[Searched]:
    """Return all tasks of the files under a folder; their features are kept in another."""
    files = [(platform, kind) for platform in PLATFORMS for kind in KINDS]
    in_processes([partial(encode_file, data, output, *file) for file in files], jobs)
    numbers: dict[Any, int] = {}
    found: list[Searched] = []
    for platform, kind in files:
        with np.load(output / f"{platform}-{kind}.npz") as kept:
            arrays = {name: kept[name] for name in kept.files}
        for place, workload in enumerate(arrays["workloads"].tolist()):
            rows = arrays["tasks"] == place
            number = numbers.setdefault(operation_of(workload), len(numbers))
            costs, ours, steps = (arrays[name][rows] for name in ("costs", "ours", "steps"))
            found.append(Searched(platform, kind, number, costs, ours, steps))
    return _without_constants(found)


def encode_file(data: Path, output: Path, platform: str, kind: str) -> None:
    """Keep the features of a file's programs."""
    path = output / f"{platform}-{kind}.npz"
    if path.is_file():
        return
    by_task: dict[str, list[Program]] = {}
    for _, program in read_ansor(data / platform / f"{kind}.json.gz"):
        if isinstance(program, Program):
            by_task.setdefault(program.task.workload, []).append(program)
    costs, ours, steps, tasks = [], [], [], []
    for place, (workload, programs) in enumerate(by_task.items()):
        schedules = [program.schedule for program in programs]
        costs += [np.mean(program.costs) if program.costs else np.inf for program in programs]
        ours.append(encode_gpu(workload, schedules, find_gpu(platform)))
        steps.append(encode_steps(schedules).reshape(len(programs), -1).astype(np.float16))
        tasks += [place] * len(programs)
    np.savez(
        path,
        workloads=np.array(list(by_task)),
        tasks=np.array(tasks),
        costs=np.array(costs, np.float64),
        ours=np.vstack(ours),
        steps=np.vstack(steps),
    )


def in_processes(calls: Sequence[Callable[[], object]], jobs: int) -> None:
    """Run calls in forked processes, so many at once; they leave what they found in files."""
    waiting = list(calls)
    running: list[BaseProcess] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(get_context("fork").Process(target=waiting.pop(0)))
            running[-1].start()
        wait([process.sentinel for process in running])
        running = [process for process in running if process.is_alive()]


def _without_constants(tasks: list[Searched]) -> list[Searched]:
    """Return tasks with those columns of the steps that differ anywhere."""
    low = np.min([task.steps.min(axis=0) for task in tasks], axis=0)
    high = np.max([task.steps.max(axis=0) for task in tasks], axis=0)
    return [replace(t, steps=t.steps[:, low < high].astype(np.float32)) for t in tasks]
