"""A worker as its parent sees it: its stage, how long it ran, what it died of."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from graph_net.isolate.deaths import Death, death_from
from graph_net.isolate.descendants import kill_all
from graph_net.isolate.messages import BadMessage, Inbox
from graph_net.measure.audit import AuditAnswer
from graph_net.measure.task import WorkerJob, now
from graph_net.results import Json, Stage

MOST_TEXT, MOST_RECORD = 1 << 24, 1 << 26
"""Bytes of a worker's message, and of its record, at most."""
ORDER = {stage: index for index, stage in enumerate(Stage)}


@dataclass
class Child:
    """A forked worker: its pipes, its task, and the state it has announced."""

    pid: int
    death: int
    """A pidfd: readable once the process has ended, whoever still holds its pipes."""
    paused: mmap.mmap
    """Seconds it was stopped for in total, shared with it."""
    task: WorkerJob
    reads: int
    writes: int
    workdir: Path
    oom_kills: int
    stage: Stage = Stage.LOAD
    born: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.monotonic)
    stopped_at: float | None = None
    stopped_for: float = 0.0
    stopped_in_all: float = 0.0
    waiting: float | None = None
    """When it began to wait for the measuring lane."""
    started: str = field(default_factory=now)
    inbox: Inbox = field(default_factory=lambda: Inbox(MOST_TEXT, MOST_RECORD))
    environment: dict[str, Json] = field(default_factory=dict)
    """Its record's environment so far, should it die."""
    entered: bool = False
    granted: bool = False
    """Whether it has had its turn in the measuring lane."""
    record: bytes | None = None
    answer: AuditAnswer | None = None
    """Its answer to the audit of its record."""
    verdict: Death | None = None
    """Why we killed it, or the fault it reported before it ended."""

    def stage_seconds(self) -> float:
        """Return the seconds spent in this stage, without those it was stopped for."""
        return time.monotonic() - self.began - self.stopped_for - self._current_stop()

    def lived_seconds(self) -> float:
        """Return the seconds since the fork, without those it was stopped for."""
        return time.monotonic() - self.born - self.stopped_in_all - self._current_stop()

    def _current_stop(self) -> float:
        return 0.0 if self.stopped_at is None else time.monotonic() - self.stopped_at

    def enter(self, stage: Stage) -> None:
        """Begin a stage; raise BadMessage if it is an earlier one, which would reset its time."""
        if ORDER[stage] < ORDER[self.stage]:
            raise BadMessage(f"announced stage {stage} after {self.stage}")
        if stage is self.stage and self.entered:
            return
        self.entered = True
        self.stage, self.began, self.stopped_for = stage, time.monotonic(), 0.0
        if self.stopped_at is not None:
            self.stopped_at = self.began

    def stop(self) -> None:
        """Stop the process and its group."""
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
            signal_group(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it continue, and account for the time it was stopped."""
        if self.stopped_at is not None:
            took = time.monotonic() - self.stopped_at
            self.stopped_for += took
            self.stopped_in_all += took
            self.stopped_at = None
            struct.pack_into("d", self.paused, 0, self.stopped_in_all)
            signal_group(self.pid, signal.SIGCONT)

    def kill(self, death: Death) -> None:
        """Kill it and its descendants; only the first reason counts."""
        if self.verdict is None:
            self.verdict = death
            kill_all([self.pid])


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a worker and its process group."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def death_of(child: Child, status: int) -> Death:
    """Return what a worker without a record died of."""
    return child.verdict or death_from(status, None, child.oom_kills)
