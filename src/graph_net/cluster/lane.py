"""The lane of a device, as a Ray actor: it runs the measuring server, and waits for its records.

Timing happens in the server's process, as without a cluster, because this one has Ray's threads.
"""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from graph_net.cluster.content_cache import ContentCache, node_folder
from graph_net.cluster.dispatch import FailedPlace
from graph_net.cluster.lane_crew import LaneReport, jobs_of
from graph_net.isolate.workdir import remove_tree
from graph_net.results import Config, Json, Record, to_json

NODE = "node"
"""Key of the node's name in a record's environment."""


@dataclass(frozen=True)
class LanePlan:
    """The job of a lane; 0 threads means all of its node."""

    device: str
    configs: tuple[Config, ...]
    threads: int = 0
    seconds_left: float | None = None
    forms: bool = False


class MeasuringLane:
    """Measures graphs with the server of its node; ``measure`` is called from many threads."""

    def __init__(self, plan: LanePlan, room: int) -> None:
        forget_thread_count()
        self.plan, self.room, self.node = plan, room, node_name()
        self.until = None if plan.seconds_left is None else time.monotonic() + plan.seconds_left
        self.folder = Path(mkdtemp(prefix="graph-net-lane-"))
        self.cache = ContentCache(node_folder() / "graphs")
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.waiting: dict[str, Future[bytes | FailedPlace | None]] = {}
        self.inside = 0
        """Number of tasks that the server has, or had when it ended."""
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def report(self) -> LaneReport:
        """Describe this node: its device, and the compilers installed here."""
        from graph_net.compilers import CompilerError, create
        from graph_net.compilers.trusted import config_here
        from graph_net.measure.device import describe

        configs, missing = [], []
        for config in self.plan.configs:
            try:
                missing.append(create(config.name, config.options).missing() or "")
                configs.append(config_here(config.name, config.options))
            except (CompilerError, OSError) as error:
                missing[len(configs) :] = [str(error)]
                configs.append(config)
        return LaneReport(
            self.node,
            describe(self.plan.device, self.plan.threads or None),
            self.room,
            tuple(configs),
            tuple(missing),
        )

    def fetched(self) -> int:
        """Return how many graphs were missing here and had to be fetched."""
        return self.cache.fetched

    def measure(self, header: dict[str, Any], name: str, box: list[Any]) -> Any:
        """Return a record as JSON; None if time was up; FailedPlace if nothing works here.

        ``box`` has a reference to the graph's bytes, which is followed if they are not here.
        """
        from graph_net.measure.task import Measurement

        graph = self.cache.get(name, lambda: bytes(import_module("ray").get(box[0])))
        forms = str(node_folder() / "forms") if self.plan.forms else None
        task = replace(Measurement.from_header(header, graph), forms=forms)
        answer: Future[bytes | FailedPlace | None] = Future()
        with self.lock:
            self.waiting[task.key] = answer
            self.tasks.put(task)
            if self.thread is None:
                self.thread = threading.Thread(target=self._serve, daemon=True)
                self.thread.start()
        return answer.result()

    def close(self) -> None:
        """Stop the server if it is idle, and remove its files."""
        thread = self.thread
        if thread is not None and not self.waiting:
            self.tasks.put(None)
            thread.join()
        remove_tree(self.folder)

    def _serve(self) -> None:
        """Run the server until its time is up."""
        from graph_net.measure.runner import lanes

        last: FailedPlace | None = None
        compilers = [config.name for config in self.plan.configs]
        try:
            with lanes(
                jobs=jobs_of(self.room),
                compilers=compilers,
                device=self.plan.device,
                work=self.folder / "work",
                until=self.until,
            ) as ask:
                for record in ask(self._stream()):
                    self.inside -= 1
                    self._answer(record.key, self._stamp(record))
        except Exception as error:
            last = FailedPlace(f"{type(error).__name__}: {error}")
        with self.lock:
            for key in [*self.waiting]:
                self._answer(key, last)
            self.tasks, self.inside, self.thread = queue.SimpleQueue(), 0, None

    def _stream(self) -> Iterator[Any]:
        """Yield tasks as they arrive; never block while the server has some."""
        from graph_net.measure.runner import NOTHING_YET

        while True:
            try:
                task = self.tasks.get(block=not self.inside)
            except queue.Empty:
                yield NOTHING_YET
                continue
            if task is None:
                return
            self.inside += 1
            yield task

    def _stamp(self, record: Record) -> bytes:
        """Return the record with its node's name added."""
        environment: dict[str, Json] = {**record.environment, NODE: self.node}
        return to_json(replace(record, environment=environment)).encode()

    def _answer(self, key: str, answer: bytes | FailedPlace | None) -> None:
        future = self.waiting.pop(key, None)
        if future is not None:
            future.set_result(answer)


def node_name() -> str:
    """Return the name of this node: its host, and the beginning of Ray's id for it."""
    context = import_module("ray").get_runtime_context()
    return f"{socket.gethostname()} {context.get_node_id()[:8]}"


def forget_thread_count() -> None:
    """Undo Ray's setting of OpenMP's thread count: the timed code decides that itself."""
    with suppress(OSError):
        initial = Path("/proc/self/environ").read_bytes().split(b"\0")
        if not any(entry.startswith(b"OMP_NUM_THREADS=") for entry in initial):
            os.environ.pop("OMP_NUM_THREADS", None)
