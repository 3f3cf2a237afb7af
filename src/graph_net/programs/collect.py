"""Collecting programs: rounds over the tasks, a warm process a task, a fork a trial.

What is measured lies in a journal a task, a line a program: a collection that is killed at any
moment and started again goes on where it was. The tasks take turns, so that a part of a collection
is an even sample of all of them.
"""

from __future__ import annotations

import gc
import json
import math
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from statistics import fmean

from graph_net.isolate import Limits, Needs, Sandbox, enter
from graph_net.isolate.place import remove_tree
from graph_net.measure.task import Inbox
from graph_net.measure.trial import Trial, serve_trials, trial_limits
from graph_net.programs.samples import Samples
from graph_net.programs.tasks import CollectedTask
from graph_net.programs.workplace import workplace
from graph_net.record import RETRIED, Program, Stage, program_from_json, program_to_json
from graph_net.space import space_of
from graph_net.store.files import read_text
from graph_net.store.journal import LineJournal, cut_torn_line, whole_lines

PATIENCE = 120
"""Seconds for making a space; a second for each draw, and the limits of each trial, on top."""
MOST_BYTES = 16 << 30
"""Address space of a task's process, so that it fails itself and not the machine."""
FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Ends for which the task is not to blame: it has its next turn."""


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
        if not self.path.exists():
            return set()
        cut_torn_line(self.path)
        return {_key(json.loads(line)["schedule"]) for line in whole_lines(self.path)}

    def seconds(self) -> float:
        """What a program took on average, from its building to its end; NaN where there is none."""
        if not self.done:
            return math.nan
        return fmean(json.loads(line)["seconds"] or 0.0 for line in whole_lines(self.path))

    def has(self, schedule: str) -> bool:
        """Whether a schedule has an outcome."""
        return _key(schedule) in self.done

    def add(self, program: Program) -> None:
        """Append one program; what the machine is to blame for is no outcome, and tried again."""
        if program.failure is not None and program.failure.symptom in RETRIED:
            return
        self.done.add(_key(program.schedule))
        with LineJournal(self.path, durable=False) as lines:
            lines.append(program_to_json(program).encode())


def _key(schedule: str) -> int:
    return int.from_bytes(blake2b(schedule.encode(), digest_size=8).digest(), "little")


class Collection:
    """A directory in which programs are collected."""

    def __init__(self, work: Path, wanted: Wanted, jobs: int) -> None:
        self.work, self.wanted, self.jobs = work, wanted, jobs
        self.place = workplace(work)
        self.lost: list[str] = []
        """Turns that ended early, and how."""
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
        """How many programs are still wanted, as far as is known before drawing."""
        total = 0
        for task in tasks:
            if self._failed(task).exists():
                continue
            drawn, all_of_them = self._samples(task).known(0, self.wanted.per_task)
            most = len(drawn) if all_of_them else self.wanted.per_task
            total += most - sum(map(self.journal(task).has, drawn))
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
        remove_tree(self.work / "trials")  # of a collection that was killed
        gc.collect()
        gc.freeze()

    def _turn(self, task: CollectedTask, start: int) -> Iterator[Program]:
        journal = self.journal(task)
        count = min(self.wanted.turn, self.wanted.per_task - start)
        drawn, all_of_them = self._samples(task).known(start, count)
        if self._failed(task).exists() or (all_of_them and all(map(journal.has, drawn))):
            return
        reads, writes = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reads)
            self._live(task, start, count, writes, parent)
        os.close(writes)
        status = None
        try:
            yield from self._read(journal, reads)
            _, status = os.waitpid(child, 0)  # its end of the pipe is closed: it has ended
        finally:
            os.close(reads)
            if status is None:  # nobody wants more
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)
        self._tell(task, status)

    def _tell(self, task: CollectedTask, status: int) -> None:
        """Keep what a task's process died of."""
        if not os.WIFSIGNALED(status):
            return
        number = os.WTERMSIG(status)
        if number == signal.SIGALRM:
            why = "took longer than all its limits together"
        else:
            known = number in set(signal.Signals)
            why = f"died of {signal.Signals(number).name if known else f'signal {number}'}"
        text = f"{task.workload.name}: the process of its space {why}"
        if number in FROM_OUTSIDE:
            self.lost.append(text)
        else:
            self._failed(task).write_text(text + "\n")

    def _live(self, task: CollectedTask, start: int, count: int, writes: int, parent: int) -> None:
        """The life of a task's process; never returns."""
        try:
            # The failures, samples and journals of its task are in there.
            # It holds the workers of its trials, and looks after them in /proc.
            sandbox = Sandbox(self.work, Needs(reads=(Path("/proc"),)))
            enter(Limits(PATIENCE + count, MOST_BYTES), sandbox, parent, writes)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the collecting process decides
            space = space_of(task.workload)
            samples = self._samples(task)
            samples.draw(space, start + count)
            space.ready()
            named = task.named(space.target)
            trials = [
                Trial(space, named, schedule, task.workload.flops)
                for schedule in samples.known(start, count)[0]
                if not self.journal(task).has(schedule)
            ]
            each = sum(trial_limits().seconds[stage] for stage in (Stage.COMPILE, Stage.MEASURE))
            signal.alarm(PATIENCE + int(len(trials) * each))
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
        """Tasks that are left out, and why."""
        files = [self._failed(task) for task in tasks]
        return [read_text(file).strip() for file in files if file.exists()]

    def _samples(self, task: CollectedTask) -> Samples:
        name = f"{task.workload.hash}-{self.wanted.seed}.txt"
        return Samples(self.work / "samples" / name, self.wanted.seed)
