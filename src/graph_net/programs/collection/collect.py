"""Collecting programs: rounds over the tasks, a warm process a task, a fork a trial.

What is measured lies in a journal a task, a line a program: a collection that is killed at any
moment and started again goes on where it was. The tasks take turns, so that a part of a collection
is an even sample of all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_net.isolate import Death, Ending
from graph_net.isolate.deaths import death_from, oom_kills, wrote_garbage
from graph_net.isolate.fork import end, fork
from graph_net.isolate.messages import BadMessage, Inbox
from graph_net.isolate.workdir import remove_tree
from graph_net.programs.collection.collection_dir import workplace
from graph_net.programs.collection.drawn_schedules import DrawnSchedules
from graph_net.programs.collection.journal import Journal
from graph_net.programs.collection.tasks import CollectedTask
from graph_net.programs.collection.turn import Turn
from graph_net.results import Program, program_from_json
from graph_net.results.signature import clean_text
from graph_net.store.files import read_text

MOST_MESSAGE = 1 << 26
"""Bytes of one message of a turn's process."""


@dataclass(frozen=True)
class Wanted:
    """How many programs of a task, drawn with which seed, how many of them at a turn."""

    per_task: int
    seed: int = 0
    turn: int = 32


class Collection:
    """A directory in which programs are collected."""

    def __init__(self, work: Path, wanted: Wanted, jobs: int) -> None:
        self.work, self.wanted, self.jobs = work, wanted, jobs
        self.place = workplace(work)
        self.lost: list[str] = []
        """Turns that ended early, and how."""
        self._journals: dict[str, Journal] = {}
        for part in ("samples", "programs", "failed"):
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
        for start in range(0, self.wanted.per_task, self.wanted.turn):
            for task in tasks:
                yield from self._turn(task, start)

    def _prepare(self, tasks: Sequence[CollectedTask]) -> None:
        """Load what every fork needs, once."""
        if any(task.workload.space == "metaschedule" for task in tasks):
            from graph_net.compilers.tvm_ready import load_intrinsics

            load_intrinsics()

    def _turn(self, task: CollectedTask, start: int) -> Iterator[Program]:
        journal = self.journal(task)
        count = min(self.wanted.turn, self.wanted.per_task - start)
        drawn, all_of_them = self._samples(task).known(start, count)
        if self._failed(task).exists() or (all_of_them and all(map(journal.has, drawn))):
            return
        turn = Turn(task, start, count, self._samples(task), journal.done, self.jobs)
        place = self._clean_place()
        reads, writes = os.pipe()
        kills = oom_kills()
        child = fork(lambda: turn.live(place, writes))
        os.close(writes)
        death = None
        try:
            yield from self._read(task, reads)
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        except BadMessage as error:
            death = wrote_garbage(error)
        finally:
            os.close(reads)
            status = end(child)
        if status:
            self._note(task, death or death_from(status, turn.most_seconds, kills))

    def _clean_place(self) -> Path:
        """The directory that the process of a turn may write to, emptied."""
        place = self.work / "trials"
        remove_tree(place)
        place.mkdir()
        return place

    def _note(self, task: CollectedTask, death: Death) -> None:
        """Keep what a task's process died of; where somebody killed it, it has its next turn."""
        text = f"{task.workload.name}: the process of its space ended: {death}"
        if death.ending is Ending.KILLED:
            self.lost.append(text)
        else:
            self._failed(task).write_text(text + "\n")

    def _read(self, task: CollectedTask, reads: int) -> Iterator[Program]:
        """Keep what the process of a turn says, which is all that it can leave here."""
        inbox = Inbox(MOST_MESSAGE, MOST_MESSAGE)
        while data := os.read(reads, 1 << 20):
            for message, blob in inbox.feed(data):
                yield from self._heard(task, message, blob)

    def _heard(
        self, task: CollectedTask, message: dict[str, Any], blob: bytes
    ) -> Iterator[Program]:
        try:
            if message["event"] == "samples":
                self._samples(task).add(blob)
            elif message["event"] == "failed":
                self._failed(task).write_text(clean_text(str(message["why"]))[:1000] + "\n")
            elif message["event"] == "record":
                program = program_from_json(blob)
                if program.task.workload != task.workload.hash:
                    raise BadMessage("a program of another task")
                self.journal(task).add(program)
                yield program
        except (KeyError, TypeError, ValueError) as error:
            raise BadMessage(str(error)[:200]) from error

    def _failed(self, task: CollectedTask) -> Path:
        return self.work / "failed" / f"{task.workload.hash}.txt"

    def failures(self, tasks: Sequence[CollectedTask]) -> list[str]:
        """Tasks that are left out, and why."""
        files = [self._failed(task) for task in tasks]
        return [read_text(file).strip() for file in files if file.exists()]

    def _samples(self, task: CollectedTask) -> DrawnSchedules:
        name = f"{task.workload.hash}-{self.wanted.seed}.txt"
        return DrawnSchedules(self.work / "samples" / name, self.wanted.seed)
