"""What a collection writes: JSON lines in gzip, flushed so that a kill costs seconds only."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

from graph_net.formats.tuning.triton import VERSION, read_triton
from graph_net.record import Failure, Program, canonical
from graph_net.space.triton.workloads import Collected

EVERY = 5.0
"""Seconds between flushes."""


class Writer:
    """Lines into one file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = gzip.GzipFile(path, "wb", compresslevel=6)
        self._flushed = time.monotonic()

    def header(self, device: dict[str, Any]) -> None:
        """Where and with what: the first line."""
        self._write({"v": VERSION, "device": device})
        self._file.flush()

    def baseline(self, of: Collected, target: str, costs: list[float]) -> None:
        """What torch takes for a workload."""
        self._write({**_task(of, target), "baseline": "torch", "costs": costs})

    def program(
        self,
        of: Collected,
        target: str,
        schedule: str,
        outcome: list[float] | Failure,
        seconds: float,
        extra: dict[str, Any],
    ) -> None:
        """One program: every repeat, or why there is none."""
        line = {**_task(of, target), "schedule": json.loads(schedule)}
        if isinstance(outcome, Failure):
            line["failure"] = {"stage": outcome.stage, "symptom": outcome.symptom}
            line["failure"] |= {"message": outcome.message}
            if outcome.signal is not None:
                line["failure"]["signal"] = outcome.signal
        else:
            line["costs"] = outcome
        line |= {"seconds": round(seconds, 4), "time": round(time.time(), 2), "extra": extra}
        self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(canonical(line).encode() + b"\n")
        if time.monotonic() - self._flushed > EVERY:
            self._file.flush()
            self._flushed = time.monotonic()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def _task(of: Collected, target: str) -> dict[str, Any]:
    work = of.workload
    return {
        "v": VERSION,
        "workload": json.loads(work.module),
        "name": work.name,
        "networks": list(of.networks),
        "flops": work.flops,
        "target": json.loads(target),
    }


def already(paths: list[Path]) -> set[tuple[str, str]]:
    """Workload and schedule of every program that earlier files have."""
    return {
        (program.task.workload, program.schedule)
        for path in paths
        for _, program in read_triton(path)
        if isinstance(program, Program)
    }
