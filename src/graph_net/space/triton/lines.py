"""What a collection writes: a Program a line, gzipped, flushed so that a kill costs seconds."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

from graph_net.formats.tuning.collected import read_collected
from graph_net.record import Failure, Json, Program, Task, canonical, program_to_json
from graph_net.space.triton.workloads import Collected

EVERY = 5.0
"""Seconds between flushes."""


class Writer:
    """Programs into one file; the first of them says where and with what all were measured."""

    def __init__(self, path: Path, target: str, device: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._target = target
        self._device = device
        self._file = gzip.GzipFile(path, "wb", compresslevel=6)
        self._flushed = time.monotonic()

    def program(
        self,
        of: Collected,
        schedule: str,
        outcome: list[float] | Failure,
        seconds: float,
        extra: dict[str, Any],
    ) -> None:
        """One program: every repeat, or why there is none."""
        failure = outcome if isinstance(outcome, Failure) else None
        if self._device:
            extra, self._device = {**extra, "device": self._device}, {}
        program = Program(
            task_of(of, self._target),
            schedule,
            () if isinstance(outcome, Failure) else tuple(outcome),
            failure,
            seconds=round(seconds, 4),
            measured=round(time.time(), 2),
            extra=canonical(extra),
        )
        self._file.write(program_to_json(program).encode() + b"\n")
        if time.monotonic() - self._flushed >= EVERY:
            self._file.flush()
            self._flushed = time.monotonic()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def task_of(of: Collected, target: str) -> Task:
    """The task as its programs have it; its details are enough to make its space again."""
    work = of.workload
    details: Json = {
        "flops": work.flops,
        "module": json.loads(work.module),
        "weights": dict(of.weights),
    }
    return Task(work.space, work.hash, work.name, target, canonical(details))


def already(paths: list[Path]) -> set[tuple[str, str]]:
    """Workload and schedule of every program that earlier files have."""
    return {
        (program.task.workload, program.schedule)
        for path in paths
        for _, program in read_collected(path)
        if isinstance(program, Program)
    }
