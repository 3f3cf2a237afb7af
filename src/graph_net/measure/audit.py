"""The parent decides: what a worker says of itself is checked by other processes.

A compiler's code runs in its worker and may change anything there: the clock, the verifier, the
record. So the process that holds the workers sends a seed once the record is written (``answer.py``
is what the worker does then), reads its own clock while batches run, and has the rest judged by a
process forked from it, never by the worker and not by itself (``judge.py``). The record that goes
out is that process's.
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
from graph_net.measure.task import Answer, Measurement, Surroundings, WorkerJob
from graph_net.results import Failure, Json, RecordError, Stage, Symptom, from_json, to_json
from graph_net.results.signature import message_of, signature_of

SEED_BYTES = 8
MOST_MARKS = 64
FAILED = "failed: "
_SCHEDULED = 2
"""The kernel's name for the clock of the time that a process was run for (``CPUCLOCK_SCHED``)."""


@dataclass(frozen=True)
class Mark:
    """A message, with the time and the processor time of its sender as the kernel has them."""

    word: str
    wall: float
    busy: float


@dataclass
class AuditAnswer:
    """What a worker said after its parent asked, with the parent's clocks."""

    seed: int = field(default_factory=lambda: SystemRandom().getrandbits(8 * SEED_BYTES - 2))
    marks: list[Mark] = field(default_factory=list)
    outputs: bytes | None = None

    def ask(self, writes: int) -> AuditAnswer:
        """Send the seed; who has ended does not read it."""
        write_to(writes, self.seed.to_bytes(SEED_BYTES, "little"))
        return self

    def hear(self, word: object, blob: bytes, pid: int, writes: int) -> None:
        """Take a message, look at the clocks, and let the worker go on."""
        if word == "outputs":
            self.outputs = blob
        elif len(self.marks) < MOST_MARKS:
            self.marks.append(Mark(str(word), time.monotonic(), busy_seconds(pid)))
            write_to(writes, b"g")

    def batch(self, arm: str, pairs: int) -> tuple[float, float] | None:
        """Wall and processor seconds of the quickest batch of an arm; None where some are missing.

        What disturbs a batch only makes it slower. On a busy machine a process waits for its turn,
        but computes no longer (unless its threads wait for one another).
        """
        begun = [mark for mark in self.marks if mark.word == f"{arm} begins"]
        ended = [mark for mark in self.marks if mark.word == f"{arm} ends"]
        if not len(begun) == len(ended) == pairs:
            return None
        return (
            min(end.wall - begin.wall for begin, end in zip(begun, ended, strict=True)),
            min(end.busy - begin.busy for begin, end in zip(begun, ended, strict=True)),
        )


def busy_seconds(pid: int) -> float:
    """Processor seconds that a process and those below it have used, whatever they say."""
    total = 0.0
    for member in descendants(pid):
        with suppress(OSError):  # it ended meanwhile
            total += time.clock_gettime((~member << 3) | _SCHEDULED)
    return total


def write_to(descriptor: int, data: bytes) -> None:
    """Tell a worker something; one that has died does not hear it, and its pipe will tell."""
    with suppress(OSError):
        os.write(descriptor, data)


def respond(answer: Answer, listens: int, tell: Callable[..., Any]) -> None:
    """In the worker: wait for the parent's seed, and answer it."""
    data = os.read(listens, SEED_BYTES)
    if len(data) < SEED_BYTES:
        return

    def say(word: str) -> None:
        """Tell the parent, and wait until it has looked at its clocks."""
        tell({"audit": word})
        os.read(listens, 1)

    try:
        outputs = answer(int.from_bytes(data, "little"), say)
    except Exception as error:
        tell({"audit": f"{FAILED}{message_of(error)[:500]}"})
        return
    tell({"audit": "outputs"}, outputs)


def follow_up(
    task: WorkerJob, record: bytes, heard: AuditAnswer | None, death: Failure | None
) -> WorkerJob | None:
    """The check of a record that says its outputs are right; None if there is nothing to check.

    ``death`` is what the worker died of, if it did.
    """
    if not isinstance(task, Measurement):
        return None
    with suppress(ValueError, TypeError, KeyError, RecursionError):  # no record: the check says so
        failure = json.loads(record)["failure"]
        if failure is not None and failure["symptom"] != Symptom.TOO_NOISY:
            return None
    return Audit(task, record, heard or AuditAnswer(), death)


@dataclass(frozen=True)
class Audit:
    """The check of one record, as work for the lanes."""

    task: Measurement
    record: bytes
    heard: AuditAnswer
    death: Failure | None = None

    @property
    def key(self) -> str:
        """That of the measurement."""
        return self.task.key

    @property
    def limits(self) -> MeasureLimits:
        """Those of the measurement."""
        return self.task.limits

    def sandbox(self, workdir: Path) -> Sandbox:
        """Its work directory: it runs eager, and nothing of the compiler's."""
        return Sandbox(workdir, device=self.task.device.kind)

    def check(self, result: bytes) -> None:
        """Raise ValueError unless these bytes are a record of the task."""
        self.task.check(result)

    def keep(self, workdir: Path) -> None:
        """Nothing is kept of a check."""

    def run(self, around: Surroundings) -> bytes:
        """The record, as it is or with what is wrong with it."""
        from graph_net.measure.audit_judge import judge_record

        around.announce(Stage.VERIFY, {})
        try:
            record = from_json(self.record)
        except RecordError as error:
            return self._failed(Symptom.EXCEPTION, message_of(error))
        try:
            return to_json(judge_record(self, record, around.workdir)).encode()
        except Exception as error:
            return self._failed(Symptom.INFRASTRUCTURE, f"checking it: {message_of(error)}")

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        """The record of a check that came to no end; it says nothing about the compiler."""
        return self._failed(Symptom.INFRASTRUCTURE, f"checking it: {failure.message}")

    def _failed(self, symptom: Symptom, why: str) -> bytes:
        failure = Failure(Stage.MEASURE, symptom, why, signature_of(why))
        return to_json(self.task.failed(failure)).encode()
