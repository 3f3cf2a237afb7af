"""Collecting programs: rounds over the tasks, a warm process a task, a fork a trial.

What is measured lies in a journal a task, a line a program: a collection that is killed at any
moment and started again goes on where it was. The tasks take turns, so that a part of a collection
is an even sample of all of them.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from graph_net.corpus.sources import written
from graph_net.measure.life import die_with_parent
from graph_net.measure.task import Inbox
from graph_net.measure.trial import Trial, serve_trials
from graph_net.programs.tasks import CollectedTask
from graph_net.record import RETRIED, Program, program_from_json, program_to_json
from graph_net.space import space_of

PATIENCE = 120
"""Seconds for making a space; half a second a program comes on top of it."""


@dataclass(frozen=True)
class Wanted:
    """How many programs of a task, drawn with which seed, how many of them at a turn."""

    per_task: int
    seed: int = 0
    turn: int = 32


class Journal:
    """The programs of one task that are measured, in a file, which is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def done(self) -> set[int]:
        """Schedules that have an outcome, hashed; a line cut off by a kill is cut off for good."""
        found: set[int] = set()
        if not self.path.exists():
            return found
        end = 0
        with self.path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    found.add(_key(json.loads(line)["schedule"]))
                    end += len(line)
        os.truncate(self.path, end)
        return found

    def has(self, schedule: str) -> bool:
        """Whether a schedule has an outcome."""
        return _key(schedule) in self.done

    def add(self, program: Program) -> None:
        """Append one program; what the machine is to blame for is no outcome, and tried again."""
        if program.failure is not None and program.failure.symptom in RETRIED:
            return
        self.done.add(_key(program.schedule))
        with self.path.open("ab") as file:
            file.write(program_to_json(program).encode() + b"\n")


def _key(schedule: str) -> int:
    return int.from_bytes(blake2b(schedule.encode(), digest_size=8).digest(), "little")


class Collection:
    """A directory in which programs are collected."""

    def __init__(self, work: Path, wanted: Wanted, jobs: int) -> None:
        self.work, self.wanted, self.jobs = work, wanted, jobs
        self._journals: dict[str, Journal] = {}
        for part in ("samples", "programs", "trials", "failed"):
            (work / part).mkdir(parents=True, exist_ok=True)

    def journal(self, task: CollectedTask) -> Journal:
        """Where the programs of a task are."""
        name = task.workload.hash
        if name not in self._journals:
            self._journals[name] = Journal(self.work / "programs" / f"{name}.jsonl")
        return self._journals[name]

    def retry(self, tasks: Sequence[CollectedTask]) -> None:
        """Forget that spaces of tasks could not be made."""
        for task in tasks:
            self._failed(task).unlink(missing_ok=True)

    def missing(self, tasks: Sequence[CollectedTask]) -> int:
        """How many programs are still wanted, as far as is known before sampling."""
        total = 0
        for task in tasks:
            samples = self._samples(task, 0, self.wanted.per_task)
            journal = self.journal(task)
            if samples is None:
                total += max(self.wanted.per_task - len(journal.done), 0)
            else:
                total += sum(not journal.has(schedule) for schedule in samples)
        return total

    def run(self, tasks: Sequence[CollectedTask]) -> Iterator[Program]:
        """Measure; programs as they are finished."""
        self._prepare(tasks)
        try:
            for start in range(0, self.wanted.per_task, self.wanted.turn):
                for task in tasks:
                    yield from self._turn(task, start)
        finally:
            gc.unfreeze()

    def _prepare(self, tasks: Sequence[CollectedTask]) -> None:
        """Load what every fork needs, once."""
        if any(task.workload.space == "metaschedule" for task in tasks):
            from graph_net.compilers.tvm_ready import load_intrinsics

            load_intrinsics()
        shutil.rmtree(self.work / "trials", ignore_errors=True)  # of a collection that was killed
        gc.collect()
        gc.freeze()

    def _turn(self, task: CollectedTask, start: int) -> Iterator[Program]:
        failed, journal = self._failed(task), self.journal(task)
        samples = self._samples(task, start, self.wanted.turn)
        if failed.exists() or (samples is not None and all(map(journal.has, samples))):
            return
        reads, writes = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reads)
            self._live(task, start, writes, parent)
        os.close(writes)
        try:
            yield from self._read(journal, reads)
        finally:
            os.close(reads)
            if not _ended(child):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)
        if self._samples(task, 0, 1) is None and not failed.exists():
            failed.write_text(f"{task.workload.name}: its space could not be sampled\n")

    def _live(self, task: CollectedTask, start: int, writes: int, parent: int) -> None:
        """The life of a task's process; never returns."""
        try:
            die_with_parent(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the collecting process decides
            space = space_of(task.workload)
            if not self._sample_file(task).exists():
                signal.alarm(PATIENCE + self.wanted.per_task // 2)  # then it is killed
                with written(self._sample_file(task)) as file:
                    for schedule in space.sample(self.wanted.per_task, self.wanted.seed):
                        file.write(schedule.encode() + b"\n")
                signal.alarm(0)
            named = task.named(space.target)
            trials = [
                Trial(space, named, schedule, task.workload.flops)
                for schedule in self._samples(task, start, self.wanted.turn) or ()
                if not self.journal(task).has(schedule)
            ]
            serve_trials(trials, self.jobs, self.work / "trials", writes)
        except Exception as error:
            why = f"{task.workload.name}: {type(error).__name__}: {error}"[:1000]
            self._failed(task).write_text(why + "\n")
        finally:
            os._exit(0)

    def _read(self, journal: Journal, reads: int) -> Iterator[Program]:
        inbox = Inbox()
        while data := os.read(reads, 1 << 20):
            for message, blob in inbox.feed(data):
                if message["event"] == "record":
                    program = program_from_json(blob)
                    journal.add(program)
                    yield program

    def _failed(self, task: CollectedTask) -> Path:
        return self.work / "failed" / f"{task.workload.hash}.txt"

    def failures(self, tasks: Sequence[CollectedTask]) -> list[str]:
        """Tasks that have no programs, and why."""
        files = [self._failed(task) for task in tasks]
        return [file.read_text().strip() for file in files if file.exists()]

    def _sample_file(self, task: CollectedTask) -> Path:
        wanted = f"{self.wanted.per_task}-{self.wanted.seed}"
        return self.work / "samples" / f"{task.workload.hash}-{wanted}.txt"

    def _samples(self, task: CollectedTask, start: int, count: int) -> list[str] | None:
        """Some of the schedules to measure, a line each, where they are drawn already."""
        place = self._sample_file(task)
        if not place.exists():
            return None
        with place.open(encoding="utf-8") as file:
            return [line.rstrip("\n") for line in islice(file, start, start + count)]


def _ended(child: int) -> bool:
    """Whether a process has ended; it is waited for then."""
    done, _ = os.waitpid(child, os.WNOHANG)
    return done != 0
