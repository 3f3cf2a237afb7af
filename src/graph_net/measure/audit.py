"""The audit of a record: what a worker claims is checked by other processes.

A compiler's code runs in its worker and may change anything there: the clock, the verifier, the
record. So the process that holds the workers sends a seed once the record is written, and reads its
own clock while the worker runs batches (``audit_answer.py``). Another process forked from it judges
the rest (``audit_judge.py``); the record of that process is the result.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Any

from graph_net.isolate import Sandbox
from graph_net.isolate.descendants import descendants
from graph_net.measure.protocol import MeasureLimits
from graph_net.measure.task import Answer, Measurement, WorkerContext, WorkerJob
from graph_net.results import Failure, Json, RecordError, Stage, Symptom, from_json, to_json
from graph_net.results.signature import message_of, signature_of

SEED_BYTES = 8
MOST_MARKS = 64
FAILED = "failed: "
_SCHEDULED = 2
"""The kernel's clock of a process's scheduled time (``CPUCLOCK_SCHED``)."""


@dataclass(frozen=True)
class Mark:
    """A message, with the wall time and its sender's CPU time by the kernel's clocks."""

    text: str
    wall: float
    busy: float


@dataclass
class AuditAnswer:
    """A worker's answer to the audit, with times by the parent's clocks."""

    seed: int = field(default_factory=lambda: SystemRandom().getrandbits(8 * SEED_BYTES - 2))
    marks: list[Mark] = field(default_factory=list)
    outputs: bytes | None = None

    def ask(self, writes: int) -> AuditAnswer:
        """Send the seed."""
        write_to(writes, self.seed.to_bytes(SEED_BYTES, "little"))
        return self

    def receive(self, text: object, blob: bytes, pid: int, writes: int) -> None:
        """Add a message with its time of arrival, and let the worker continue."""
        if text == "outputs":
            self.outputs = blob
        elif len(self.marks) < MOST_MARKS:
            self.marks.append(Mark(str(text), time.monotonic(), busy_seconds(pid)))
            write_to(writes, b"g")

    def batch(self, arm: str, pairs: int) -> tuple[float, float] | None:
        """Return wall and CPU seconds of the quickest batch of an arm; None if any is missing.

        Disturbances only make a batch slower. On a busy machine a process waits for its turn, but
        uses no more CPU time (unless its threads wait for one another).
        """
        begins = [mark for mark in self.marks if mark.text == f"{arm} begins"]
        ends = [mark for mark in self.marks if mark.text == f"{arm} ends"]
        if not len(begins) == len(ends) == pairs:
            return None
        return (
            min(end.wall - begin.wall for begin, end in zip(begins, ends, strict=True)),
            min(end.busy - begin.busy for begin, end in zip(begins, ends, strict=True)),
        )


def busy_seconds(pid: int) -> float:
    """Return the CPU seconds that a process and its descendants have used, by the kernel."""
    total = 0.0
    for member in descendants(pid):
        with suppress(OSError):  # it ended meanwhile
            total += time.clock_gettime((~member << 3) | _SCHEDULED)
    return total


def write_to(descriptor: int, data: bytes) -> None:
    """Write to a worker's pipe; a dead worker is noticed elsewhere."""
    with suppress(OSError):
        os.write(descriptor, data)


def respond(answer: Answer, listens: int, tell: Callable[..., Any]) -> None:
    """Wait, in the worker, for the parent's seed, and answer it."""
    data = os.read(listens, SEED_BYTES)
    if len(data) < SEED_BYTES:
        return

    def say(text: str) -> None:
        """Tell the parent, and wait until it has read its clocks."""
        tell({"audit": text})
        os.read(listens, 1)

    try:
        outputs = answer(int.from_bytes(data, "little"), say)
    except Exception as error:
        tell({"audit": f"{FAILED}{message_of(error)[:500]}"})
        return
    tell({"audit": "outputs"}, outputs)


def follow_up(
    task: WorkerJob, record: bytes, answer: AuditAnswer | None, death: Failure | None
) -> WorkerJob | None:
    """Return the audit of a record that claims correct outputs; None if there is nothing to check.

    ``death`` is what the worker died of, if it did.
    """
    if not isinstance(task, Measurement):
        return None
    with suppress(ValueError, TypeError, KeyError, RecursionError):  # not a record: audit it
        failure = json.loads(record)["failure"]
        if failure is not None and failure["symptom"] != Symptom.TOO_NOISY:
            return None
    return Audit(task, record, answer or AuditAnswer(), death)


@dataclass(frozen=True)
class Audit:
    """The check of one record, as work for the lanes."""

    task: Measurement
    record: bytes
    answer: AuditAnswer
    death: Failure | None = None

    @property
    def key(self) -> str:
        """The key of the measurement."""
        return self.task.key

    @property
    def limits(self) -> MeasureLimits:
        """The limits of the measurement."""
        return self.task.limits

    def sandbox(self, workdir: Path) -> Sandbox:
        """Allow its work directory: it runs eager, and none of the compiler's code."""
        return Sandbox(workdir, device=self.task.device.kind)

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes are a record of the task."""
        self.task.check(result)

    def keep(self, workdir: Path) -> None:
        """Keep nothing."""

    def run(self, context: WorkerContext) -> bytes:
        """Return the record, unchanged or with the failure that the audit found."""
        from graph_net.measure.audit_judge import judge_record

        context.announce(Stage.VERIFY, {})
        try:
            record = from_json(self.record)
        except RecordError as error:
            return self._failed(Symptom.EXCEPTION, message_of(error))
        try:
            return to_json(judge_record(self, record, context.workdir)).encode()
        except Exception as error:
            return self._failed(Symptom.INFRASTRUCTURE, f"checking it: {message_of(error)}")

    def died(
        self, failure: Failure, environment: dict[str, Json], started: str, seconds: float
    ) -> bytes:
        """Return the record of a check that did not finish; it does not blame the compiler."""
        return self._failed(Symptom.INFRASTRUCTURE, f"checking it: {failure.message}")

    def _failed(self, symptom: Symptom, why: str) -> bytes:
        failure = Failure(Stage.MEASURE, symptom, why, signature_of(why))
        return to_json(self.task.failed(failure)).encode()
