"""The lanes: workers forked from a process with torch loaded, many building, one measuring.

Reads tasks from standard input and writes records to standard output, as messages of
``graph_net.measure.task``. A worker does everything up to the timing beside others; then it waits
for the measuring lane. On a CPU every other worker is stopped (SIGSTOP) while one measures. On a
GPU only those that would compute there are, and compiling continues on other cores than the
measuring worker's; a worker that finds its measurement noisy asks for quiet, and all others are
stopped. When standard input ends, the process finishes its queue; when it is killed or terminated,
its workers die with it.
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
"""Seconds between checks of clocks and memory."""
ON_DEVICE = frozenset({Stage.LOAD, Stage.EAGER, Stage.FIRST_RUN, Stage.VERIFY})
"""Stages that compute on the device, apart from measuring itself."""
MOST_PROCESSES = 512
"""Descendants that a worker may have; a compiler's own pool has one per core."""


class Server:
    """The process that holds the workers; ``serve`` runs until there is nothing left to do."""

    def __init__(self, jobs: int, device: str, root: Path, source: int, sink: int) -> None:
        self.jobs, self.root, self.source, self.sink = jobs, root, source, sink
        self.exclusive = not device.startswith("cuda")
        """Whether all other workers are stopped while one measures."""
        self.queue: deque[WorkerJob] = deque()
        self.children: dict[int, Child] = {}
        self.measuring: Child | None = None
        self.quiet = False
        """Whether the measuring worker has asked for all others to be stopped."""
        self.cores = None if self.exclusive else Cores.divide()
        self.inbox = Inbox()
        self.outbox = bytearray()
        self.open = True
        self.selector = selectors.DefaultSelector()
        self.selector.register(source, selectors.EVENT_READ, None)
        os.set_blocking(sink, False)
        adopt_orphans()
        self.foreign = set(children_of(os.getpid()))
        """Children that were here before this server: never killed."""
        if self.cores is not None:
            move(os.getpid(), self.cores.others)

    def serve(self) -> None:
        """Read tasks, run them, send records."""
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
            self.open = False
            self.selector.unregister(self.source)
        for header, graph in self.inbox.feed(data):
            self.queue.append(Measurement.from_header(header, graph))

    def _start_workers(self) -> None:
        if self.measuring is not None and (self.exclusive or self.quiet):
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
        """Handle what a worker wrote; return whether there may be more."""
        try:
            data = os.read(child.reads, 1 << 20)
        except BlockingIOError:
            return False
        if not data and child.reads in self.selector.get_map():
            self.selector.unregister(child.reads)
        try:
            for message, blob in child.inbox.feed(data):
                self._handle(child, message, blob)
        except (ValueError, KeyError, TypeError) as error:
            self._silence(child, deaths.wrote_garbage(error))
            return False
        return bool(data)

    def _handle(self, child: Child, message: dict[str, Any], blob: bytes) -> None:
        """Handle one message; raise BadMessage unless it may be sent, and may be sent now."""
        if "stage" in message:
            child.enter(Stage(message["stage"]))
            child.environment = dict(message["known"])
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
            child.record, child.answer = blob, AuditAnswer().ask(child.writes)
        elif "audit" in message and child.answer is not None:
            child.answer.receive(message["audit"], blob, child.pid, child.writes)
        else:
            raise BadMessage(f"{clean_text(str(message))[:200]}")

    def _hush(self, child: Child) -> None:
        """Stop all other workers, then let the measuring one continue."""
        self.quiet = True
        for other in self.children.values():
            if other is not child:
                other.stop()
        write_to(child.writes, b"g")

    def _silence(self, child: Child, death: deaths.Death) -> None:
        """Kill a worker whose messages are invalid, and read no more of them."""
        child.record = None
        child.kill(death)
        if child.reads in self.selector.get_map():
            self.selector.unregister(child.reads)

    def _grant(self) -> None:
        """Let the worker that has waited longest measure, unless one is measuring."""
        if self.measuring is not None:
            return
        ready = [c for c in self.children.values() if c.waiting is not None and not c.verdict]
        if not ready:
            for child in self.children.values():
                child.resume()
            return
        waiting = min(ready, key=lambda child: child.waiting or 0.0)
        for child in self.children.values():
            if child is not waiting and (self.exclusive or child.stage in ON_DEVICE):
                child.stop()
            else:
                child.resume()
        self.measuring = waiting
        waiting.waiting, waiting.granted = None, True
        waiting.enter(Stage.MEASURE)
        if self.cores is not None:
            move(waiting.pid, self.cores.measuring)
        write_to(waiting.writes, b"g")

    def _check_limits(self) -> None:
        kill_strays(self.foreign | self.children.keys())
        for child in self.children.values():
            if child.stopped_at is not None:
                continue
            if state_of(child.pid) == "T":  # not by us: a worker must not hold up the others
                signal_group(child.pid, signal.SIGCONT)
            most = child.task.limits.seconds[child.stage]
            if child.waiting is None and child.stage_seconds() > most:
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
        # Its orphans are our children now.
        kill_strays(self.foreign | (self.children.keys() - {child.pid}))
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
            record = self._record_death(child, death)
        else:
            with suppress(OSError):
                child.task.keep(child.workdir)
        remove_tree(child.workdir)
        check = follow_up(child.task, record, child.answer, death)
        if check is not None:
            self.queue.appendleft(check)
        else:
            self._send({"event": "record", "key": child.task.key}, record)

    def _record_death(self, child: Child, failure: Failure) -> bytes:
        """Return the record of a worker that died without one."""
        seconds = child.lived_seconds()
        try:
            return child.task.died(failure, child.environment, child.started, seconds)
        except (ValueError, TypeError):  # the environment it sent cannot be stored
            return child.task.died(failure, {}, child.started, seconds)

    def _send(self, tree: dict[str, Any], blob: bytes = b"") -> None:
        """Queue a message until the asking process reads.

        Writing at once could deadlock with that process writing a task to us.
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the asking process closes the pipe instead
    sink = os.dup(1)
    os.dup2(2, 1)  # prints must not mix with the messages
    prepare(compilers, device)
    server = Server(int(jobs), device, Path(root), 0, sink)

    def terminate(number: int, frame: object) -> None:
        """Kill every worker and its descendants: they would keep running, or stay stopped."""
        kill_all(server.children)
        kill_strays(server.foreign)
        os._exit(1)

    signal.signal(signal.SIGTERM, terminate)
    server.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
