"""Measure tasks: start the lanes, feed them, and restart them if they die."""

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
"""Seconds the lanes have to end their workers once asked to."""
SOLO_DEATHS = 2
"""Deaths of the lanes with a single task in them before that task is blamed."""
SILENT_DEATHS = 3
"""Consecutive deaths of the lanes before their first message that are tolerated."""
POLL = 1.0
"""Seconds of silence after which the state of the lanes is checked."""
WAKE_UPS = 3
"""How often stopped lanes are woken before they are restarted."""
GRACE = 20.0
"""Seconds past the deadline that a run waits for what is already being measured."""
_NEARLY_DONE = frozenset({Stage.VERIFY, Stage.MEASURE})
Watch = Callable[[str, str, str], None]
"""Called with (event, key, stage); events: start, stage, record, and stopped at the deadline."""


def _ignore(event: str, key: str, stage: str) -> None:
    """Watch nothing."""


class NothingYet:
    """Stands in for a task: none is ready now, but more may come after another record."""


NOTHING_YET = NothingYet()


def measure(
    tasks: Iterable[Measurement | NothingYet],
    *,
    jobs: int,
    compilers: Iterable[str],
    device: str = "cpu",
    watch: Watch = _ignore,
    work: Path | None = None,
    until: float | None = None,
) -> Iterator[Record]:
    """Yield the records of tasks, in the order they finish.

    ``tasks`` is read lazily, a few ahead of the workers, so memory does not grow with it. ``until``
    is a deadline by ``time.monotonic``: tasks that are compiling then are stopped and have no
    record; a task that is being measured has a few seconds more.
    """
    with lanes(
        jobs=jobs, compilers=compilers, device=device, watch=watch, work=work, until=until
    ) as ask:
        yield from ask(tasks)


Ask = Callable[[Iterable[Measurement | NothingYet]], Iterator[Record]]


@contextmanager
def lanes(
    *,
    jobs: int,
    compilers: Iterable[str],
    device: str = "cpu",
    watch: Watch = _ignore,
    work: Path | None = None,
    until: float | None = None,
) -> Iterator[Ask]:
    """Yield a function like ``measure`` for repeated calls: the lanes are started once.

    Call it again only once all records of the call before have been read.
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
        self.tasks: Iterator[Measurement | NothingYet] = iter(())
        self.until = math.inf
        self.jobs, self.watch, self.root = jobs, watch, root
        self.command = [
            # -P: do not import a directory called graph_net in the current directory.
            *(sys.executable, "-P", "-m", "graph_net.measure.server"),
            *(str(jobs), device, str(root.absolute()), str(os.getpid())),
            *compilers,
        ]
        self.server: subprocess.Popen[bytes] | None = None
        self.inbox = Inbox()
        self.suspects: deque[Measurement] = deque()
        """Tasks during which the lanes died: each is sent again, alone."""
        self.out: dict[str, Measurement] = {}
        self.deaths: dict[str, int] = {}
        """How often the lanes died with a task alone in them, by key."""
        self.solo = False
        self.silent_deaths = self.stops = 0
        self.stages: dict[str, Stage] = {}
        self.more = False
        self.has_spoken = False
        """Whether the lanes that run now have sent a message."""

    def records(self, tasks: Iterable[Measurement | NothingYet]) -> Iterator[Record]:
        self.tasks, self.more = iter(tasks), True
        while self._feed() or self.out:
            data = self._read()
            if data is None:
                self._stop()
                return
            if not data:
                yield from self._recover()
            for message, blob in self.inbox.feed(data):
                yield from self._receive(message, blob)

    def _feed(self) -> bool:
        """Keep a few tasks, or one suspect, ahead of the workers; return whether any are out."""
        if self.solo and self.out:
            return True
        self.solo = bool(self.suspects) and not self.out
        if self.solo:
            self._send_out(self.suspects.popleft())
        while not self.suspects and not self.solo and len(self.out) < 2 * self.jobs + 1:
            task = self._next()
            if task is None:
                break
            self._send_out(task)
        return bool(self.out)

    def _send_out(self, task: Measurement) -> None:
        self.out[task.key] = task
        self._send(task)

    def _next(self) -> Measurement | None:
        while self.more:
            task = next(self.tasks, None)
            if isinstance(task, NothingYet):
                return None
            if task is None:
                self.more = False
            elif task.key not in self.out:
                return task
        return None

    def _send(self, task: Measurement) -> None:
        pipe = self._start_server().stdin
        assert pipe is not None
        data = memoryview(encode(task.header(), task.graph))
        try:
            while data:
                if self._wait_for([], [pipe.fileno()]):
                    data = data[os.write(pipe.fileno(), data) :]
        except BrokenPipeError:  # the next read notices this, and recovers
            return

    def _read(self) -> bytes | None:
        """Return what the lanes wrote; None at the deadline."""
        pipe = self._start_server().stdout
        assert pipe is not None
        while not self._is_late():
            if self._wait_for([pipe.fileno()], []):
                return os.read(pipe.fileno(), 1 << 20)
        return None

    def _is_late(self) -> bool:
        """Return whether the deadline is past: a little later if something is nearly measured."""
        nearly_done = any(self.stages.get(key) in _NEARLY_DONE for key in self.out)
        return time.monotonic() > self.until + (GRACE if nearly_done else 0.0)

    def _stop(self) -> None:
        """End the lanes; tasks in them get no record and are measured by the next run."""
        self.end()
        for key in (*self.out, *(task.key for task in self.suspects)):
            self.watch("stopped", key, self.stages.pop(key, ""))
        self.out.clear()
        self.suspects.clear()

    def _wait_for(self, reads: list[int], writes: list[int]) -> bool:
        """Wait a little for a pipe; wake lanes that somebody stopped, or restart them."""
        if any(select.select(reads, writes, [], POLL)):
            return True
        server = self._start_server()
        if state_of(server.pid) == "T":
            self.stops += 1
            server.send_signal(signal.SIGKILL if self.stops > WAKE_UPS else signal.SIGCONT)
        return False

    def _start_server(self) -> subprocess.Popen[bytes]:
        if self.server is None:
            self.inbox, self.has_spoken, self.stops = Inbox(), False, 0
            self.server = subprocess.Popen(  # noqa: S603 - our own module
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=server_environment(),
            )
            assert self.server.stdin is not None
            os.set_blocking(self.server.stdin.fileno(), False)
        return self.server

    def _receive(self, message: dict[str, Any], blob: bytes) -> Iterator[Record]:
        self.has_spoken, self.silent_deaths = True, 0
        key, event = message["key"], message["event"]
        if event == "stage":
            self.stages[key] = Stage(message["stage"])
        self.watch(event, key, message.get("stage", ""))
        if event == "record" and self.out.pop(key, None) is not None:
            self.stages.pop(key, None)
            self.deaths.pop(key, None)
            yield from_json(blob)

    def _recover(self) -> Iterator[Record]:
        """Retry each task of dead lanes alone, to find which one kills them."""
        self.silent_deaths += not self.has_spoken
        self.end()
        if self.silent_deaths >= SILENT_DEATHS:
            raise RecordError(
                "the process that holds the workers cannot start; its error is printed above"
            )
        for key, task in list(self.out.items()):
            del self.out[key]
            self.deaths[key] = self.deaths.get(key, 0) + self.solo
            if self.deaths[key] < SOLO_DEATHS:
                self.suspects.append(task)
                continue
            stage = self.stages.pop(key, Stage.LOAD)
            del self.deaths[key]
            self.watch("record", key, "")
            yield task.failed(_blame_task(stage))

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
        kill_confined_strays()  # the workers are dead: their processes are our children now


def _blame_task(stage: Stage) -> Failure:
    """Return the failure of a task that killed the lanes whenever it was alone in them.

    Where signals are scoped no worker can kill the lanes: then the machine is to blame.
    """
    why = "the process that holds the workers died"
    why += f" {SOLO_DEATHS} times with this alone in it, at {stage}"
    if not is_off() and landlock.abi() >= landlock.SCOPED_SIGNALS:
        return Failure(stage, Symptom.INFRASTRUCTURE, why, signature_of(why))
    return Failure(stage, Symptom.CRASH, why, signature_of(why), signal.SIGKILL)


def server_environment() -> dict[str, str]:
    """Return this process's environment, with the package found where this process found it.

    That also holds for interpreters that a compiler starts: Inductor tries vector instructions
    with ``python -c``, which would look in the current directory first.
    """
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
