"""Tasks in, Records out: starts the lanes, feeds them, and starts them again if they die."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graph_net.measure.task import Inbox, Task, encode
from graph_net.record import Failure, Record, RecordError, Stage, Symptom, from_json
from graph_net.record.signature import signature_of

PATIENCE = 5.0
"""Seconds the lanes have to end their workers when they are told to end."""
TRIES = 2
"""How often a task is handed out before the death of the lanes is called its fault."""
Watch = Callable[[str, str, str], None]
"""Told (event, key, stage) as things happen: start, stage, record."""


def _nobody(event: str, key: str, stage: str) -> None:
    """Nobody watches."""


def measure(
    tasks: Iterable[Task],
    *,
    jobs: int,
    compilers: Iterable[str],
    alone: bool = True,
    watch: Watch = _nobody,
    work: Path | None = None,
) -> Iterator[Record]:
    """The records of tasks, in the order they are done.

    ``tasks`` is read as it is needed, a few ahead of the workers: memory does not grow with it.
    """
    with lanes(jobs=jobs, compilers=compilers, alone=alone, watch=watch, work=work) as ask:
        yield from ask(tasks)


Ask = Callable[[Iterable[Task]], Iterator[Record]]


@contextmanager
def lanes(
    *,
    jobs: int,
    compilers: Iterable[str],
    alone: bool = True,
    watch: Watch = _nobody,
    work: Path | None = None,
) -> Iterator[Ask]:
    """What ``measure`` does, for who asks again and again: the lanes are started once.

    Inside, call what is given with tasks; the next call may come when all records of one are read.
    """
    with _workspace(work) as root:
        run = _Run(jobs, [*compilers], alone, watch, root)
        try:
            yield run.records
        finally:
            run.end()


@contextmanager
def _workspace(work: Path | None) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="graph-net-")) if work is None else work
    shutil.rmtree(root, ignore_errors=True)  # left by a run that was killed
    root.mkdir(parents=True)
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


class _Run:
    def __init__(
        self, jobs: int, compilers: list[str], alone: bool, watch: Watch, root: Path
    ) -> None:
        self.tasks: Iterator[Task] = iter(())
        self.jobs, self.watch, self.root = jobs, watch, root
        self.command = [
            # -P: a directory called graph_net where this is run is not this package.
            *(sys.executable, "-P", "-m", "graph_net.measure.server"),
            *(str(jobs), "1" if alone else "0", str(root.absolute()), str(os.getpid())),
            *compilers,
        ]
        self.server: subprocess.Popen[bytes] | None = None
        self.inbox = Inbox()
        self.again: deque[Task] = deque()
        self.out: dict[str, Task] = {}
        self.tries: dict[str, int] = {}
        self.stages: dict[str, Stage] = {}
        self.more = False
        self.heard = False
        """Whether the lanes that run now have said anything."""

    def records(self, tasks: Iterable[Task]) -> Iterator[Record]:
        self.tasks, self.more = iter(tasks), True
        while self._feed() or self.out:
            data = self._read()
            if not data:
                yield from self._recover()
            for message, blob in self.inbox.feed(data):
                yield from self._take(message, blob)

    def _feed(self) -> bool:
        """Keep a few tasks ahead of the workers; whether any are out."""
        while len(self.out) < 2 * self.jobs + 1:
            task = self.again.popleft() if self.again else self._next()
            if task is None:
                break
            self.out[task.key] = task
            self.tries[task.key] = self.tries.get(task.key, 0) + 1
            self._send(task)
        return bool(self.out)

    def _next(self) -> Task | None:
        while self.more:
            task = next(self.tasks, None)
            if task is None:
                self.more = False
            elif task.key not in self.out:
                return task
        return None

    def _send(self, task: Task) -> None:
        pipe = self._running().stdin
        assert pipe is not None
        try:
            pipe.write(encode(task.header(), task.graph))
            pipe.flush()
        except BrokenPipeError:  # reading tells the same, and recovers
            return

    def _read(self) -> bytes:
        pipe = self._running().stdout
        assert pipe is not None
        return os.read(pipe.fileno(), 1 << 20)

    def _running(self) -> subprocess.Popen[bytes]:
        if self.server is None:
            self.inbox, self.heard = Inbox(), False
            self.server = subprocess.Popen(  # noqa: S603 - our own module
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
            )
        return self.server

    def _take(self, message: dict[str, Any], blob: bytes) -> Iterator[Record]:
        self.heard = True
        key, event = message["key"], message["event"]
        if event == "stage":
            self.stages[key] = Stage(message["stage"])
        self.watch(event, key, message.get("stage", ""))
        if event == "record" and self.out.pop(key, None) is not None:
            self.stages.pop(key, None)
            self.tries.pop(key, None)
            yield from_json(blob)

    def _recover(self) -> Iterator[Record]:
        """The lanes died: hand their tasks out again, or say so where that was done before."""
        never_began = not self.heard
        self.end()
        if never_began and all(self.tries[key] >= TRIES for key in self.out):
            raise RecordError("the process that holds the workers cannot start; see above")
        for key, task in list(self.out.items()):
            del self.out[key]
            if self.tries[key] < TRIES:
                self.again.append(task)
                continue
            stage = self.stages.pop(key, Stage.LOAD)
            why = f"the process that holds the workers died {TRIES} times, the last at {stage}"
            failure = Failure(stage, Symptom.INFRASTRUCTURE, why, signature_of(why))
            self.tries.pop(key)
            self.watch("record", key, "")
            yield task.failed(failure)

    def end(self) -> None:
        if self.server is None:
            return
        for pipe in (self.server.stdin, self.server.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self.server.terminate()
        try:
            self.server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.server = None


def _environment() -> dict[str, str]:
    """This process's environment; the lanes find the package where this process found it."""
    places = [entry for entry in sys.path if entry]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
