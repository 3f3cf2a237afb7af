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
from pathlib import Path

from graph_net.corpus.sources import written
from graph_net.measure.life import die_with_parent
from graph_net.measure.task import Inbox
from graph_net.measure.trial import Trial, serve_trials
from graph_net.programs.tasks import CollectedTask
from graph_net.record import Program, program_from_json
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
    """The programs of one task that are measured, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def done(self) -> set[str]:
        """Schedules that have an outcome; a line cut off by a kill is cut off for good."""
        if not self.path.exists():
            return set()
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) != len(data):
            os.truncate(self.path, len(whole))
        return {str(json.loads(line)["schedule"]) for line in whole.splitlines()}

    def add(self, line: bytes) -> None:
        """Append one program."""
        with self.path.open("ab") as file:
            file.write(line + b"\n")


class Collection:
    """A directory in which programs are collected."""

    def __init__(self, work: Path, wanted: Wanted, jobs: int) -> None:
        self.work, self.wanted, self.jobs = work, wanted, jobs
        for part in ("samples", "programs", "trials", "failed"):
            (work / part).mkdir(parents=True, exist_ok=True)

    def journal(self, task: CollectedTask) -> Journal:
        """Where the programs of a task are."""
        return Journal(self.work / "programs" / f"{task.workload.hash}.jsonl")

    def missing(self, tasks: Sequence[CollectedTask]) -> int:
        """How many programs are still wanted, as far as is known before sampling."""
        total = 0
        for task in tasks:
            samples = self._samples(task)
            most = self.wanted.per_task if samples is None else len(samples)
            total += max(most - len(self.journal(task).done()), 0)
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
        failed = self._failed(task)
        samples = self._samples(task)
        if failed.exists() or (samples is not None and start >= len(samples)):
            return
        done = self.journal(task).done()
        if samples is not None and done.issuperset(samples[start : start + self.wanted.turn]):
            return
        reads, writes = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reads)
            self._live(task, start, done, writes, parent)
        os.close(writes)
        try:
            yield from self._read(task, reads)
        finally:
            os.close(reads)
            if not _ended(child):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)
        if self._samples(task) is None and not failed.exists():
            failed.write_text(f"{task.workload.name}: its space could not be sampled\n")

    def _live(
        self, task: CollectedTask, start: int, done: set[str], writes: int, parent: int
    ) -> None:
        """The life of a task's process; never returns."""
        try:
            die_with_parent(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the collecting process decides
            space = space_of(task.workload)
            samples = self._samples(task)
            if samples is None:
                signal.alarm(PATIENCE + self.wanted.per_task // 2)  # then it is killed
                samples = list(space.sample(self.wanted.per_task, self.wanted.seed))
                with written(self._sample_file(task)) as file:
                    file.write(json.dumps(samples).encode())
                signal.alarm(0)
            named = task.named(space.target)
            trials = [
                Trial(space, named, schedule, task.workload.flops)
                for schedule in samples[start : start + self.wanted.turn]
                if schedule not in done
            ]
            serve_trials(trials, self.jobs, self.work / "trials", writes)
        except Exception as error:
            why = f"{task.workload.name}: {type(error).__name__}: {error}"[:1000]
            self._failed(task).write_text(why + "\n")
        finally:
            os._exit(0)

    def _read(self, task: CollectedTask, reads: int) -> Iterator[Program]:
        inbox, journal = Inbox(), self.journal(task)
        while data := os.read(reads, 1 << 20):
            for message, blob in inbox.feed(data):
                if message["event"] == "record":
                    journal.add(blob)
                    yield program_from_json(blob)

    def _failed(self, task: CollectedTask) -> Path:
        return self.work / "failed" / f"{task.workload.hash}.txt"

    def failures(self, tasks: Sequence[CollectedTask]) -> list[str]:
        """Tasks that have no programs, and why."""
        files = [self._failed(task) for task in tasks]
        return [file.read_text().strip() for file in files if file.exists()]

    def _sample_file(self, task: CollectedTask) -> Path:
        wanted = f"{self.wanted.per_task}-{self.wanted.seed}"
        return self.work / "samples" / f"{task.workload.hash}-{wanted}.json"

    def _samples(self, task: CollectedTask) -> list[str] | None:
        """The schedules to measure, where they are drawn already."""
        file = self._sample_file(task)
        return json.loads(file.read_bytes()) if file.exists() else None


def _ended(child: int) -> bool:
    """Whether a process has ended; it is waited for then."""
    done, _ = os.waitpid(child, os.WNOHANG)
    return done != 0
