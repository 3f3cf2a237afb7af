"""A worker as its parent sees it: how far it is, how long it ran, what it died of."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from graph_net.isolate.deaths import Death, death_from
from graph_net.isolate.descendants import kill_all
from graph_net.isolate.messages import BadMessage, Inbox
from graph_net.measure.audit import AuditAnswer
from graph_net.measure.task import WorkerJob, now
from graph_net.results import Json, Stage

MOST_TEXT, MOST_RECORD = 1 << 24, 1 << 26
"""Bytes of what a worker may say in one message, and of its record."""
ORDER = {stage: place for place, stage in enumerate(Stage)}


@dataclass
class Child:
    """A worker as its parent sees it."""

    pid: int
    death: int
    """Readable when the process has ended, whoever still holds its pipes."""
    paused: mmap.mmap
    """Seconds it was stopped for in all, where it can read them."""
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
    """Since when it has waited for the measuring lane."""
    started: str = field(default_factory=now)
    inbox: Inbox = field(default_factory=lambda: Inbox(MOST_TEXT, MOST_RECORD))
    known: dict[str, Json] = field(default_factory=dict)
    """What it had found out, should it die."""
    entered: bool = False
    granted: bool = False
    """Whether it has had its turn in the measuring lane."""
    record: bytes | None = None
    heard: AuditAnswer | None = None
    """What it answered when it was asked to show that its record holds."""
    verdict: Death | None = None
    """Why it was killed by us, or what it said before it ended."""

    def used(self) -> float:
        """Seconds of this stage, those it was stopped for aside."""
        return time.monotonic() - self.began - self.stopped_for - self._still()

    def lived(self) -> float:
        """Seconds since the fork, those it was stopped for aside."""
        return time.monotonic() - self.born - self.stopped_in_all - self._still()

    def _still(self) -> float:
        """Seconds of the stop that it is in."""
        return 0.0 if self.stopped_at is None else time.monotonic() - self.stopped_at

    def enter(self, stage: Stage) -> None:
        """Begin a stage; none comes twice, or its time would begin anew."""
        if ORDER[stage] < ORDER[self.stage]:
            raise BadMessage(f"is at {stage} after {self.stage}")
        if stage is self.stage and self.entered:
            return
        self.entered = True
        self.stage, self.began, self.stopped_for = stage, time.monotonic(), 0.0
        if self.stopped_at is not None:
            self.stopped_at = self.began

    def stop(self) -> None:
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
            signal_group(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        if self.stopped_at is not None:
            took = time.monotonic() - self.stopped_at
            self.stopped_for += took
            self.stopped_in_all += took
            self.stopped_at = None
            struct.pack_into("d", self.paused, 0, self.stopped_in_all)
            signal_group(self.pid, signal.SIGCONT)

    def kill(self, death: Death) -> None:
        """End it and what it started; only the first reason counts."""
        if self.verdict is None:
            self.verdict = death
            kill_all([self.pid])


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a worker and to whatever it started."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return


def death_of(child: Child, status: int) -> Death:
    """What a worker died of, when it left no record."""
    return child.verdict or death_from(status, None, child.oom_kills)
