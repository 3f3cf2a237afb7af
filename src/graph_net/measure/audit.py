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
from graph_net.measure.protocol import Limits
from graph_net.measure.task import Answer, Surroundings, Task, Work
from graph_net.record import Failure, Json, RecordError, Stage, Symptom, from_json, to_json
from graph_net.record.signature import message_of, signature_of

SEED_BYTES = 8
PAIRS = 3
"""Batches of each arm; the quickest counts, since what disturbs one only makes it slower."""
MOST_WORDS = 8 * PAIRS


@dataclass
class Heard:
    """What a worker said after its parent asked, with the parent's time."""

    seed: int = field(default_factory=lambda: SystemRandom().getrandbits(8 * SEED_BYTES - 2))
    words: list[tuple[str, float]] = field(default_factory=list)
    outputs: bytes | None = None

    def ask(self, writes: int) -> Heard:
        """Send the seed; who has ended does not read it."""
        with suppress(OSError):
            os.write(writes, self.seed.to_bytes(SEED_BYTES, "little"))
        return self

    def hear(self, word: object, blob: bytes) -> None:
        """Take a message, at the time it came."""
        if len(self.words) < MOST_WORDS:
            self.words.append((str(word), time.monotonic()))
        if word == "outputs":
            self.outputs = blob

    def seconds(self, arm: str) -> float | None:
        """The quickest batch of an arm; None where not all were run."""
        begun = [at for word, at in self.words if word == f"{arm} begins"]
        ended = [at for word, at in self.words if word == f"{arm} ends"]
        if not len(begun) == len(ended) == PAIRS:
            return None
        return min(end - begin for begin, end in zip(begun, ended, strict=True))


def respond(answer: Answer, listens: int, tell: Callable[..., Any]) -> None:
    """In the worker: wait for the parent's seed, and answer it."""
    data = os.read(listens, SEED_BYTES)
    if len(data) < SEED_BYTES:
        return
    try:
        outputs = answer(int.from_bytes(data, "little"), lambda word: tell({"audit": word}))
    except Exception as error:
        tell({"audit": f"failed: {message_of(error)[:500]}"})
        return
    tell({"audit": "outputs"}, outputs)


def follow_up(task: Work, record: bytes, heard: Heard | None, death: Failure | None) -> Work | None:
    """The check of a record that says it is a success; None where there is nothing to check.

    ``death`` is what the worker died of, if it did.
    """
    if not isinstance(task, Task):
        return None
    with suppress(ValueError, TypeError, KeyError, RecursionError):  # no record: the check says so
        if json.loads(record)["failure"] is not None:
            return None
    return Audit(task, record, heard or Heard(), death)


@dataclass(frozen=True)
class Audit:
    """The check of one record, as work for the lanes."""

    task: Task
    record: bytes
    heard: Heard
    death: Failure | None = None

    @property
    def key(self) -> str:
        """That of the measurement."""
        return self.task.key

    @property
    def limits(self) -> Limits:
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
        """The record, as a success or as what is wrong with it."""
        from graph_net.measure.judge import judged

        around.announce(Stage.VERIFY, {})
        try:
            record = from_json(self.record)
        except RecordError as error:
            return self._failed(Symptom.EXCEPTION, message_of(error))
        try:
            return to_json(judged(self, record, around.workdir)).encode()
        except Exception as error:
            return self._failed(Symptom.INFRASTRUCTURE, f"checking it: {message_of(error)}")

    def died(self, failure: Failure, known: dict[str, Json], started: str, seconds: float) -> bytes:
        """The record of a check that came to no end; it says nothing about the compiler."""
        return self._failed(Symptom.INFRASTRUCTURE, f"checking it: {failure.message}")

    def _failed(self, symptom: Symptom, why: str) -> bytes:
        failure = Failure(Stage.MEASURE, symptom, why, signature_of(why))
        return to_json(self.task.failed(failure)).encode()
