"""What a collection writes: a Program a line, gzipped, flushed so that a kill costs seconds.

A file that is gone on with gets another member of gzip; readers see one file.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph_net.programs.formats.collected import read_collected
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.graphs import graph_of
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.workloads import Collected
from graph_net.results import Failure, Json, Program, Task, canonical, program_to_json
from graph_net.store.atomic import replacing
from graph_net.store.files import open_regular
from graph_net.store.lines import BROKEN_GZIP, CHUNK, Lines, read_chunks

Outcomes = Counter[tuple[str, str]]
"""How often each program, a workload and a schedule, has been measured."""
EVERY = 5.0
"""Seconds between flushes."""


class ProgramWriter:
    """Programs into one file; the first of them says where and with what all were measured.

    The file must not be there, unless it is one to go on with.
    """

    def __init__(
        self, path: Path, target: str, device: dict[str, Any], goes_on: bool = False
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._target = target
        self._device = device
        self._tasks: dict[str, Task] = {}
        if goes_on:
            _mend(path)
        self._file = gzip.GzipFile(path, "ab" if goes_on else "xb", compresslevel=6)
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
        program = Program.from_log(
            self._task(of),
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

    def _task(self, of: Collected) -> Task:
        known = self._tasks.get(of.workload.hash)
        if known is None:
            known = self._tasks[of.workload.hash] = task_of(of, self._target)
        return known

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def task_of(of: Collected, target: str) -> Task:
    """The task as its programs have it; its details are enough to make its space again."""
    work = of.workload
    graph = graph_of(TritonSpace(work, target).family)
    details: Json = {
        "flops": work.flops,
        "graph": graph.id,
        "module": json.loads(work.module),
        "structure": graph.structure,
        "weights": dict(of.weights),
    }
    return Task(work.space, work.hash, work.name, target, canonical(details))


def begun(out: Path, done: Sequence[Path]) -> tuple[Outcomes, bool]:
    """What earlier files have, and whether ``out`` is one of them, to be gone on with.

    Raises SpaceError where ``out`` is there and is none of them. One that is among them and not
    there is yet to be written, so that the same command begins a collection and goes on with it.
    """
    named = any(path.resolve() == out.resolve() for path in done)
    if out.exists() and not named:
        raise SpaceError(f"{out} is there already: --done {out} goes on with it")
    earlier = [path for path in done if path.exists() or path.resolve() != out.resolve()]
    return already(earlier), out.exists()


def already(paths: Sequence[Path]) -> Outcomes:
    """Count the outcomes that earlier files have of each program."""
    return Counter(
        (program.task.workload, program.schedule)
        for path in paths
        for _, program in read_collected(path)
        if isinstance(program, Program)
    )


def _mend(path: Path) -> None:
    """Make a file end as another member of gzip can follow; one that was cut off does not."""
    last = b"\n"
    try:
        with gzip.open(open_regular(path)) as file:
            while data := file.read(CHUNK):
                last = data
        if last.endswith(b"\n"):
            return
    except BROKEN_GZIP:
        pass
    with replacing(path) as mended, gzip.open(mended, "wb") as whole:
        for found in read_chunks(path):
            if isinstance(found, Lines):
                whole.write(found.data[: found.data.rfind(b"\n") + 1])
