"""The lanes: workers forked from a process with torch loaded, many building, one measuring.

Reads tasks from standard input and writes records to standard output, as messages of
``graph_net.measure.task``. A worker does everything up to the timing beside others; then it waits
for the measuring lane. On a CPU everything else of ours is stopped (SIGSTOP) while one measures. On
a GPU only what would compute there is, and compiling goes on, on other cores than the measuring
worker's; one that finds its measurement noisy asks for quiet, and everything is stopped. When its
standard input ends, the process works off what it has; when it is killed or terminated, its workers
go with it.
"""

from __future__ import annotations

import mmap
import os
import selectors
import signal
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from graph_net.isolate import deaths
from graph_net.isolate.cores import Cores, move
from graph_net.isolate.descendants import children_of, descendants, kill_all, kill_strays, state_of
from graph_net.isolate.fork import fork, reap
from graph_net.isolate.messages import BadMessage, Inbox, encode
from graph_net.isolate.privileges import adopt_orphans, die_with_parent
from graph_net.isolate.workdir import remove_tree
from graph_net.measure.audit import AuditAnswer, follow_up, write_to
from graph_net.measure.memory import group_bytes
from graph_net.measure.preload import prepare
from graph_net.measure.task import Measurement, WorkerJob
from graph_net.measure.worker_handle import Child, death_of, signal_group
from graph_net.measure.worker_protocol import live
from graph_net.results import Failure, Stage
from graph_net.results.death import failure_from
from graph_net.results.signature import clean_text

TICK = 0.25
"""Seconds between looks at clocks and memory."""
ON_DEVICE = frozenset({Stage.LOAD, Stage.EAGER, Stage.FIRST_RUN, Stage.VERIFY})
"""Stages that compute on the device, beside the measuring itself."""
MOST_PROCESSES = 512
"""How many a worker may have below it; a compiler's own pool has one for each core."""


class Server:
    """Holds the workers; ``serve`` runs until there is nothing left to do."""

    def __init__(self, jobs: int, device: str, root: Path, source: int, sink: int) -> None:
        self.jobs, self.root, self.source, self.sink = jobs, root, source, sink
        self.alone = not device.startswith("cuda")
        """Whether everything else is stopped while one measures."""
        self.queue: deque[WorkerJob] = deque()
        self.children: dict[int, Child] = {}
        self.measuring: Child | None = None
        self.quiet = False
        """Whether the one that measures has asked for everything else to be stopped."""
        self.cores = None if self.alone else Cores.divided()
        self.inbox = Inbox()
        self.outbox = bytearray()
        self.open = True
        self.selector = selectors.DefaultSelector()
        self.selector.register(source, selectors.EVENT_READ, None)
        os.set_blocking(sink, False)
        adopt_orphans()
        self.kin = set(children_of(os.getpid()))
        """Processes of who made this server, which are none of its business."""
        if self.cores is not None:
            move(os.getpid(), self.cores.others)

    def serve(self) -> None:
        """Take tasks, run them, send records."""
        while self.open or self.queue or self.children or self.outbox:
            self._start_workers()
            for key, _ in self.selector.select(TICK):
                if key.fd == self.sink:
                    self._flush()
                elif key.fd == self.source:
                    self._read_tasks()
                elif key.fd == key.data.death:
                    self._finish(key.data)
                elif key.data.pid in self.children:  # it may have ended in this very round
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
            self.queue.append(Measurement.from_header(header, graph))

    def _start_workers(self) -> None:
        if self.measuring is not None and (self.alone or self.quiet):
            return
        building = sum(child.waiting is None for child in self.children.values())
        while self.queue and building < self.jobs and len(self.children) < 2 * self.jobs:
            child = self._fork(self.queue.popleft())
            self.children[child.pid] = child
            self.selector.register(child.reads, selectors.EVENT_READ, child)
            self.selector.register(child.death, selectors.EVENT_READ, child)
            self._send({"event": "start", "key": child.task.key})
            building += 1

    def _fork(self, task: WorkerJob) -> Child:
        reads, tells = os.pipe()
        listens, writes = os.pipe()
        workdir = self.root / task.key
        paused = mmap.mmap(-1, 8)
        pid = fork(lambda: live(task, workdir, listens, tells, paused))
        os.close(tells)
        os.close(listens)
        os.set_blocking(reads, False)
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)  # in both processes: whichever is first
        return Child(
            pid, os.pidfd_open(pid), paused, task, reads, writes, workdir, deaths.oom_kills()
        )

    def _read_child(self, child: Child) -> bool:
        """Take what a worker says; whether there may be more."""
        try:
            data = os.read(child.reads, 1 << 20)
        except BlockingIOError:
            return False
        if not data and child.reads in self.selector.get_map():
            self.selector.unregister(child.reads)
        try:
            for message, blob in child.inbox.feed(data):
                self._hear(child, message, blob)
        except (ValueError, KeyError, TypeError) as error:
            self._silence(child, deaths.said_rubbish(error))
            return False
        return bool(data)

    def _hear(self, child: Child, message: dict[str, Any], blob: bytes) -> None:
        """Believe a worker what it may say, in the order in which it may."""
        if "stage" in message:
            child.enter(Stage(message["stage"]))
            child.known = dict(message["known"])
            if self.measuring not in (None, child) and child.stage in ON_DEVICE:
                child.stop()
            self._send({"event": "stage", "key": child.task.key, "stage": child.stage})
        elif "waiting" in message and not child.granted:
            child.waiting = time.monotonic()
        elif "quiet" in message and child is self.measuring and not self.quiet:
            self._hush(child)
        elif "fault" in message:
            child.verdict = child.verdict or deaths.Death(
                deaths.Ending.EXCEPTION, str(message["fault"])
            )
        elif "record" in message and child.record is None:
            child.task.check(blob)
            child.record, child.heard = blob, AuditAnswer().ask(child.writes)
        elif "audit" in message and child.heard is not None:
            child.heard.hear(message["audit"], blob, child.pid, child.writes)
        else:
            raise BadMessage(f"{clean_text(str(message))[:200]}")

    def _hush(self, child: Child) -> None:
        """Stop everything beside the one that measures, and tell it."""
        self.quiet = True
        for other in self.children.values():
            if other is not child:
                other.stop()
        write_to(child.writes, b"g")

    def _silence(self, child: Child, death: deaths.Death) -> None:
        """End a worker that cannot be understood, and hear no more of it."""
        child.record = None
        child.kill(death)
        if child.reads in self.selector.get_map():
            self.selector.unregister(child.reads)

    def _grant(self) -> None:
        """Let the worker that has waited longest measure, if nobody does."""
        if self.measuring is not None:
            return
        ready = [c for c in self.children.values() if c.waiting is not None and not c.verdict]
        if not ready:
            for child in self.children.values():
                child.go_on()
            return
        waiting = min(ready, key=lambda child: child.waiting or 0.0)
        for child in self.children.values():
            if child is not waiting and (self.alone or child.stage in ON_DEVICE):
                child.stop()
            else:
                child.go_on()
        self.measuring = waiting
        waiting.waiting, waiting.granted = None, True
        waiting.enter(Stage.MEASURE)
        if self.cores is not None:
            move(waiting.pid, self.cores.kept)
        write_to(waiting.writes, b"g")

    def _check_limits(self) -> None:
        kill_strays(self.kin | self.children.keys())
        for child in self.children.values():
            if child.stopped_at is not None:
                continue
            if state_of(child.pid) == "T":  # not by us: one worker is not to hold up another
                signal_group(child.pid, signal.SIGCONT)
            most = child.task.limits.seconds[child.stage]
            if child.waiting is None and child.used() > most:
                child.kill(deaths.took_longer(most))
            if len(descendants(child.pid)) > MOST_PROCESSES:
                child.kill(deaths.started_more(MOST_PROCESSES))
            limit = child.task.limits.memory_bytes
            if group_bytes(child.pid) > limit:
                child.kill(deaths.held_more(limit))

    def _finish(self, child: Child) -> None:
        while child.reads in self.selector.get_map() and self._read_child(child):
            pass
        for descriptor in (child.reads, child.death):
            if descriptor in self.selector.get_map():
                self.selector.unregister(descriptor)
        status = reap(child.pid)
        # Whatever it started is ours now, and goes with it.
        kill_strays(self.kin | (self.children.keys() - {child.pid}))
        for descriptor in (child.reads, child.writes, child.death):
            os.close(descriptor)
        child.paused.close()
        del self.children[child.pid]
        if self.measuring is child:
            self.measuring, self.quiet = None, False
        record = child.record
        death = None
        if status or record is None:
            death = failure_from(death_of(child, status), child.stage)
        if record is None:
            assert death is not None
            record = self._obituary(child, death)
        else:
            with suppress(OSError):
                child.task.keep(child.workdir)
        remove_tree(child.workdir)
        check = follow_up(child.task, record, child.heard, death)
        if check is not None:
            self.queue.appendleft(check)
        else:
            self._send({"event": "record", "key": child.task.key}, record)

    def _obituary(self, child: Child, failure: Failure) -> bytes:
        try:
            return child.task.died(failure, child.known, child.started, child.lived())
        except (ValueError, TypeError):  # what it said it knew cannot be stored
            return child.task.died(failure, {}, child.started, child.lived())

    def _send(self, tree: dict[str, Any], blob: bytes = b"") -> None:
        """Put a message where it waits until the asking process reads.

        Writing at once could wait for ever: for a process that waits to write a task to us.
        """
        if not self.outbox:
            self.selector.register(self.sink, selectors.EVENT_WRITE, None)
        self.outbox += encode(tree, blob)

    def _flush(self) -> None:
        del self.outbox[: os.write(self.sink, self.outbox)]
        if not self.outbox:
            self.selector.unregister(self.sink)


def main(arguments: list[str]) -> None:
    """``python -m graph_net.measure.server JOBS DEVICE ROOT PARENT COMPILER…``."""
    (jobs, device, root, parent), compilers = arguments[:4], arguments[4:]
    die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the asking process decides, and closes the pipe
    sink = os.dup(1)
    os.dup2(2, 1)  # whatever prints must not print into the messages
    prepare(compilers, device)
    server = Server(int(jobs), device, Path(root), 0, sink)

    def terminate(number: int, frame: object) -> None:
        """Kill every worker with what it started: they would compute on, or stay stopped."""
        kill_all(server.children)
        kill_strays(server.kin)
        os._exit(1)

    signal.signal(signal.SIGTERM, terminate)
    server.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
