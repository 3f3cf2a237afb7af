"""The lanes: workers forked from a process with torch loaded, many building, one measuring.

Reads tasks from standard input and writes records to standard output, as messages of
``graph_net.measure.task``. A worker does everything up to the timing beside others; then it waits
for the measuring lane. On a CPU everything else of ours is stopped (SIGSTOP) while one measures;
on a GPU building goes on. The process ends with its standard input, and its workers with it.
"""

from __future__ import annotations

import ctypes
import os
import selectors
import shutil
import signal
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_net.measure.memory import group_bytes, oom_kills
from graph_net.measure.signature import signature_of
from graph_net.measure.task import Inbox, Task, encode
from graph_net.record import Failure, Json, Record, Stage, Symptom, from_json, to_json

TICK = 0.25
"""Seconds between looks at clocks and memory."""
_PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A worker as its parent sees it."""

    pid: int
    task: Task
    reads: int
    writes: int
    workdir: Path
    oom_kills: int
    stage: Stage = Stage.LOAD
    began: float = field(default_factory=time.monotonic)
    stopped_at: float | None = None
    stopped_for: float = 0.0
    waiting: bool = False
    inbox: Inbox = field(default_factory=Inbox)
    known: dict[str, Json] = field(default_factory=dict)
    """What it had found out, should it die."""
    record: Record | None = None
    verdict: Failure | None = None
    """Why it was killed by us."""

    def used(self) -> float:
        """Seconds of this stage, those it was stopped for aside."""
        still = 0.0 if self.stopped_at is None else time.monotonic() - self.stopped_at
        return time.monotonic() - self.began - self.stopped_for - still

    def enter(self, stage: Stage) -> None:
        self.stage, self.began, self.stopped_for = stage, time.monotonic(), 0.0
        if self.stopped_at is not None:
            self.stopped_at = self.began

    def stop(self) -> None:
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
            _signal(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        if self.stopped_at is not None:
            self.stopped_for += time.monotonic() - self.stopped_at
            self.stopped_at = None
            _signal(self.pid, signal.SIGCONT)

    def kill(self, failure: Failure) -> None:
        if self.verdict is None:
            self.verdict = failure
            _signal(self.pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return


class Server:
    """Holds the workers; ``serve`` runs until there is nothing left to do."""

    def __init__(self, jobs: int, alone: bool, root: Path, source: int, sink: int) -> None:
        self.jobs, self.alone, self.root, self.source, self.sink = jobs, alone, root, source, sink
        self.queue: deque[Task] = deque()
        self.children: dict[int, Child] = {}
        self.measuring: Child | None = None
        self.inbox = Inbox()
        self.open = True
        self.selector = selectors.DefaultSelector()
        self.selector.register(source, selectors.EVENT_READ, None)

    def serve(self) -> None:
        """Take tasks, run them, send records."""
        while self.open or self.queue or self.children:
            self._start_workers()
            for key, _ in self.selector.select(TICK):
                if key.data is None:
                    self._read_tasks()
                else:
                    self._read_child(key.data)
            self._check_limits()
            self._grant()

    def _read_tasks(self) -> None:
        data = os.read(self.source, 1 << 20)
        if not data:
            # Whoever asked is gone or has nothing more to ask.
            self.open = False
            self.selector.unregister(self.source)
        for header, graph in self.inbox.feed(data):
            self.queue.append(Task.from_header(header, graph))

    def _start_workers(self) -> None:
        if self.alone and self.measuring is not None:
            return
        building = sum(not child.waiting for child in self.children.values())
        while self.queue and building < self.jobs and len(self.children) < 2 * self.jobs:
            child = self._fork(self.queue.popleft())
            self.children[child.pid] = child
            self.selector.register(child.reads, selectors.EVENT_READ, child)
            self._send({"event": "start", "key": child.task.key})
            building += 1

    def _fork(self, task: Task) -> Child:
        reads, tells = os.pipe()
        listens, writes = os.pipe()
        workdir = self.root / task.key
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            for descriptor in (reads, writes, self.source, self.sink):
                os.close(descriptor)
            _child(task, workdir, listens, tells)
        os.close(tells)
        os.close(listens)
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)  # in both processes: whichever is first
        return Child(pid, task, reads, writes, workdir, oom_kills())

    def _read_child(self, child: Child) -> None:
        data = os.read(child.reads, 1 << 20)
        if not data:
            self._finish(child)
            return
        for message, blob in child.inbox.feed(data):
            if "stage" in message:
                child.enter(Stage(message["stage"]))
                child.known = message["known"]
                self._send({"event": "stage", "key": child.task.key, "stage": child.stage})
            elif "waiting" in message:
                child.waiting = True
            else:
                child.record = from_json(blob)

    def _grant(self) -> None:
        """Let the worker that has waited longest measure, if nobody does."""
        if self.measuring is not None:
            return
        waiting = next((c for c in self.children.values() if c.waiting and not c.verdict), None)
        if waiting is None:
            for child in self.children.values():
                child.go_on()
            return
        if self.alone:
            for child in self.children.values():
                if child is not waiting:
                    child.stop()
        waiting.go_on()
        self.measuring = waiting
        waiting.waiting = False
        try:
            os.write(waiting.writes, b"g")
        except BrokenPipeError:  # it died while it waited; reading from it will tell
            return

    def _check_limits(self) -> None:
        for child in self.children.values():
            if child.waiting or child.stopped_at is not None:
                continue
            most = child.task.limits.seconds[child.stage]
            if child.used() > most:
                why = f"{child.stage} took more than {most:g} s"
                child.kill(Failure(child.stage, Symptom.TIMEOUT, why, signature_of(why)))
            held = group_bytes(child.pid)
            if held > child.task.limits.memory_bytes:
                limit = child.task.limits.memory_bytes
                why = f"held more than the limit of {limit / 2**30:.1f} GiB"
                child.kill(Failure(child.stage, Symptom.OUT_OF_MEMORY, why, signature_of(why)))

    def _finish(self, child: Child) -> None:
        self.selector.unregister(child.reads)
        _, status = os.waitpid(child.pid, 0)
        _signal(child.pid, signal.SIGKILL)  # whatever it started goes with it
        os.close(child.reads)
        os.close(child.writes)
        del self.children[child.pid]
        if self.measuring is child:
            self.measuring = None
        shutil.rmtree(child.workdir, ignore_errors=True)
        record = child.record or child.task.failed(
            _death(child, status), environment=child.known, seconds=child.used()
        )
        self._send({"event": "record", "key": child.task.key}, to_json(record).encode())

    def _send(self, tree: dict[str, Any], blob: bytes = b"") -> None:
        data = memoryview(encode(tree, blob))
        while data:
            data = data[os.write(self.sink, data) :]


def _death(child: Child, status: int) -> Failure:
    """What a worker died of, when it left no record."""
    if child.verdict is not None:
        return child.verdict
    if not os.WIFSIGNALED(status):
        why = f"the worker ended with status {os.waitstatus_to_exitcode(status)} and no record"
        return Failure(child.stage, Symptom.INFRASTRUCTURE, why, signature_of(why))
    number = os.WTERMSIG(status)
    if number == signal.SIGKILL and oom_kills() > child.oom_kills:
        why = "the machine ran out of memory"
        return Failure(child.stage, Symptom.OUT_OF_MEMORY, why, why)
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        why = f"killed from outside by {signal.Signals(number).name}"
        return Failure(child.stage, Symptom.INFRASTRUCTURE, why, why)
    why = f"died of {signal.Signals(number).name} at {child.stage}"
    return Failure(child.stage, Symptom.CRASH, why, why, number)


def _child(task: Task, workdir: Path, listens: int, tells: int) -> None:
    """The life of a worker; never returns."""
    status = 1
    try:
        die_with_parent()
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        from graph_net.measure.worker import Worker

        workdir.mkdir(parents=True, exist_ok=True)

        def wait() -> None:
            os.write(tells, encode({"waiting": True}))
            if not os.read(listens, 1):
                os._exit(0)

        def announce(stage: Stage, known: dict[str, Json]) -> None:
            os.write(tells, encode({"stage": stage, "known": known}))

        record = Worker(task, workdir, announce, wait).run()
        data = memoryview(encode({"record": True}, to_json(record).encode()))
        while data:
            data = data[os.write(tells, data) :]
        status = 0
    finally:
        # Compilers leave threads and handlers behind that hang or crash at an ordinary exit.
        os._exit(status)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main(arguments: list[str]) -> None:
    """``python -m graph_net.measure.server JOBS ALONE ROOT COMPILER…``."""
    jobs, alone, root, compilers = arguments[0], arguments[1], arguments[2], arguments[3:]
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the asking process decides, and closes the pipe
    sink = os.dup(1)
    os.dup2(2, 1)  # whatever prints must not print into the messages
    prepare(compilers)
    Server(int(jobs), alone == "1", Path(root), 0, sink).serve()


def prepare(compilers: list[str]) -> None:
    """Load what every worker needs, before the first fork."""
    import gc

    import torch

    import graph_net.measure.worker  # noqa: F401
    from graph_net.compilers import create

    torch.set_num_threads(1)  # a parent of forks runs no threads
    for name in compilers:
        create(name).prepare()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main(sys.argv[1:])
