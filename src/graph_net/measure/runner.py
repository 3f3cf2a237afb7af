"""Tasks in, Records out: starts the lanes, feeds them, and starts them again if they die."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graph_net.isolate import landlock
from graph_net.isolate.descendants import state_of
from graph_net.isolate.fork import kill_confined_strays
from graph_net.isolate.messages import Inbox, encode
from graph_net.isolate.privileges import adopting_orphans
from graph_net.isolate.sandbox import is_off
from graph_net.isolate.workdir import remove_tree
from graph_net.measure.task import Measurement
from graph_net.results import Failure, Record, RecordError, Stage, Symptom, from_json
from graph_net.results.signature import signature_of

PATIENCE = 5.0
"""Seconds the lanes have to end their workers when they are told to end."""
ALONE = 2
"""How often the lanes must die with nothing in them but one task before it is called its doing."""
SILENT = 3
"""How often the lanes may die before they have said anything."""
LOOK = 1.0
"""Seconds of silence after which the state of the lanes is looked at."""
STOPS = 3
"""How often lanes that somebody stopped are woken before they are started again."""
GRACE = 20.0
"""Seconds after its time is up that a run waits for what is being measured already."""
_NEARLY = frozenset({Stage.VERIFY, Stage.MEASURE})
Watch = Callable[[str, str, str], None]
"""Told (event, key, stage) as things happen: start, stage, record; stopped, where time is up."""


def _nobody(event: str, key: str, stage: str) -> None:
    """Nobody watches."""


def measure(
    tasks: Iterable[Measurement],
    *,
    jobs: int,
    compilers: Iterable[str],
    device: str = "cpu",
    watch: Watch = _nobody,
    work: Path | None = None,
    until: float | None = None,
) -> Iterator[Record]:
    """The records of tasks, in the order they are done.

    ``tasks`` is read as it is needed, a few ahead of the workers: memory does not grow with it.
    ``until`` is when it ends, by ``time.monotonic``: what is compiling then is stopped and has no
    record, what is being measured has a few seconds more.
    """
    with lanes(
        jobs=jobs, compilers=compilers, device=device, watch=watch, work=work, until=until
    ) as ask:
        yield from ask(tasks)


Ask = Callable[[Iterable[Measurement]], Iterator[Record]]


@contextmanager
def lanes(
    *,
    jobs: int,
    compilers: Iterable[str],
    device: str = "cpu",
    watch: Watch = _nobody,
    work: Path | None = None,
    until: float | None = None,
) -> Iterator[Ask]:
    """What ``measure`` does, for who asks again and again: the lanes are started once.

    Inside, call what is given with tasks; the next call may come when all records of one are read.
    """
    with _workspace(work) as root, adopting_orphans():
        run = _Run(jobs, [*compilers], device, watch, root)
        run.until = math.inf if until is None else until
        try:
            yield run.records
        finally:
            run.end()


@contextmanager
def _workspace(work: Path | None) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="graph-net-")) if work is None else work
    remove_tree(root)  # left by a run that was killed
    root.mkdir(parents=True)
    try:
        yield root
    finally:
        remove_tree(root)


class _Run:
    def __init__(
        self, jobs: int, compilers: list[str], device: str, watch: Watch, root: Path
    ) -> None:
        self.tasks: Iterator[Measurement] = iter(())
        self.until = math.inf
        self.jobs, self.watch, self.root = jobs, watch, root
        self.command = [
            # -P: a directory called graph_net where this is run is not this package.
            *(sys.executable, "-P", "-m", "graph_net.measure.server"),
            *(str(jobs), device, str(root.absolute()), str(os.getpid())),
            *compilers,
        ]
        self.server: subprocess.Popen[bytes] | None = None
        self.inbox = Inbox()
        self.suspects: deque[Measurement] = deque()
        """Tasks during which the lanes died: each is handed out again with nothing beside it."""
        self.out: dict[str, Measurement] = {}
        self.deaths: dict[str, int] = {}
        """How often the lanes died while a task was alone in them."""
        self.alone = False
        self.silent = self.stops = 0
        self.stages: dict[str, Stage] = {}
        self.more = False
        self.heard = False
        """Whether the lanes that run now have said anything."""

    def records(self, tasks: Iterable[Measurement]) -> Iterator[Record]:
        self.tasks, self.more = iter(tasks), True
        while self._feed() or self.out:
            data = self._read()
            if data is None:
                self._stop()
                return
            if not data:
                yield from self._recover()
            for message, blob in self.inbox.feed(data):
                yield from self._take(message, blob)

    def _feed(self) -> bool:
        """Keep a few tasks ahead of the workers, or one suspect alone; whether any are out."""
        if self.alone and self.out:
            return True
        self.alone = bool(self.suspects) and not self.out
        if self.alone:
            self._hand_out(self.suspects.popleft())
        while not self.suspects and not self.alone and len(self.out) < 2 * self.jobs + 1:
            task = self._next()
            if task is None:
                break
            self._hand_out(task)
        return bool(self.out)

    def _hand_out(self, task: Measurement) -> None:
        self.out[task.key] = task
        self._send(task)

    def _next(self) -> Measurement | None:
        while self.more:
            task = next(self.tasks, None)
            if task is None:
                self.more = False
            elif task.key not in self.out:
                return task
        return None

    def _send(self, task: Measurement) -> None:
        pipe = self._running().stdin
        assert pipe is not None
        data = memoryview(encode(task.header(), task.graph))
        try:
            while data:
                if self._watched([], [pipe.fileno()]):
                    data = data[os.write(pipe.fileno(), data) :]
        except BrokenPipeError:  # reading tells the same, and recovers
            return

    def _read(self) -> bytes | None:
        """What the lanes say; None where the time is up."""
        pipe = self._running().stdout
        assert pipe is not None
        while not self._is_late():
            if self._watched([pipe.fileno()], []):
                return os.read(pipe.fileno(), 1 << 20)
        return None

    def _is_late(self) -> bool:
        """Whether the time is up: a little later where something is nearly measured."""
        nearly = any(self.stages.get(key) in _NEARLY for key in self.out)
        return time.monotonic() > self.until + (GRACE if nearly else 0.0)

    def _stop(self) -> None:
        """End the lanes; what is in them has no record and is asked for again next time."""
        self.end()
        for key in (*self.out, *(task.key for task in self.suspects)):
            self.watch("stopped", key, self.stages.pop(key, ""))
        self.out.clear()
        self.suspects.clear()

    def _watched(self, reads: list[int], writes: list[int]) -> bool:
        """Wait a little for a pipe; lanes that somebody stopped are woken, or started again."""
        if any(select.select(reads, writes, [], LOOK)):
            return True
        server = self._running()
        if state_of(server.pid) == "T":
            self.stops += 1
            server.send_signal(signal.SIGKILL if self.stops > STOPS else signal.SIGCONT)
        return False

    def _running(self) -> subprocess.Popen[bytes]:
        if self.server is None:
            self.inbox, self.heard, self.stops = Inbox(), False, 0
            self.server = subprocess.Popen(  # noqa: S603 - our own module
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
            )
            assert self.server.stdin is not None
            os.set_blocking(self.server.stdin.fileno(), False)
        return self.server

    def _take(self, message: dict[str, Any], blob: bytes) -> Iterator[Record]:
        self.heard, self.silent = True, 0
        key, event = message["key"], message["event"]
        if event == "stage":
            self.stages[key] = Stage(message["stage"])
        self.watch(event, key, message.get("stage", ""))
        if event == "record" and self.out.pop(key, None) is not None:
            self.stages.pop(key, None)
            self.deaths.pop(key, None)
            yield from_json(blob)

    def _recover(self) -> Iterator[Record]:
        """The lanes died: each task in them is tried alone, which tells whose doing it was."""
        self.silent += not self.heard
        self.end()
        if self.silent >= SILENT:
            raise RecordError("the process that holds the workers cannot start; see above")
        for key, task in list(self.out.items()):
            del self.out[key]
            self.deaths[key] = self.deaths.get(key, 0) + self.alone
            if self.deaths[key] < ALONE:
                self.suspects.append(task)
                continue
            stage = self.stages.pop(key, Stage.LOAD)
            del self.deaths[key]
            self.watch("record", key, "")
            yield task.failed(_blame(stage))

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
        kill_confined_strays()  # what its workers had started is ours since they died


def _blame(stage: Stage) -> Failure:
    """The lanes died whenever a task was in them alone.

    Where signals are scoped no worker can do that, and whoever did is none of ours.
    """
    why = f"the process that holds the workers died {ALONE} times with this alone in it, at {stage}"
    theirs = not is_off() and landlock.abi() >= landlock.SCOPED_SIGNALS
    if theirs:
        return Failure(stage, Symptom.INFRASTRUCTURE, why, signature_of(why))
    return Failure(stage, Symptom.CRASH, why, signature_of(why), signal.SIGKILL)


def _environment() -> dict[str, str]:
    """This process's environment; the lanes find the package where this process found it.

    So does every interpreter that a compiler starts: Inductor tries vector instructions with
    ``python -c``, which would look in the current directory first.
    """
    places = [entry for entry in sys.path if entry]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONSAFEPATH": "1"}
