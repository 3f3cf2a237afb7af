"""Which programs are measured, and when: the same for the same tasks and seed, on every device.

Tasks take turns, so that a part of a collection is an even sample of all of them. A few programs
are measured twice, turns apart: what the two times differ by is the noise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.spaces.space import Workload
from graph_net.results import digest

_HEXADECIMAL = re.compile("[0-9a-f]{8}")
APART = 2
"""Turns of all tasks between the two measurements of a program."""


@dataclass(frozen=True)
class Wanted:
    """How many programs of a task, drawn with which seed, how many of them at a turn."""

    per_task: int
    seed: int = 0
    turn: int = 32
    repeated: int = 50
    """One program in this many is measured twice; 0 for none."""

    @property
    def turns(self) -> int:
        """How many turns a task has; in the last ones only repeated programs are left."""
        return -(-self.per_task // self.turn) + (APART if self.repeated else 0)


@dataclass(frozen=True)
class PendingProgram:
    """A program to measure."""

    workload: Workload
    schedule: str
    again: bool = False
    """Whether this is its second measurement."""
    best: float | None = None
    """The seconds of the best program of the task so far."""
    compile_seconds: float = 0.0
    """What compiling it took, where that was done apart from measuring."""


@dataclass(frozen=True)
class Turn:
    """Some programs of one task: the next ones of its sample, and those due a second time."""

    task: CollectedTask
    number: int
    wanted: Wanted
    outcomes: Mapping[int, int]
    """How often each schedule, by its key, has been measured: changes while programs finish."""

    @property
    def seed(self) -> int:
        """What the task's schedules are drawn with: tasks with the same choices draw others."""
        name = self.task.workload.hash
        if not _HEXADECIMAL.match(name):  # as the hashes of plug-ins may be
            name = digest(name)
        return int(name[:8], 16) ^ self.wanted.seed

    @property
    def end(self) -> int:
        """How many schedules must be drawn for it."""
        return min(self.wanted.per_task, (self.number + 1) * self.wanted.turn)

    def pending(self, drawn: Sequence[str]) -> list[PendingProgram]:
        """Return what is not measured yet, given the first ``end`` schedules of the task."""
        programs = [
            PendingProgram(self.task.workload, schedule)
            for schedule in self._slice(drawn, self.number)
            if not self.outcomes.get(schedule_key(schedule))
        ]
        programs += [
            PendingProgram(self.task.workload, schedule, again=True)
            for schedule in self._slice(drawn, self.number - APART)
            if self.is_repeated(schedule) and self.outcomes.get(schedule_key(schedule), 0) < 2
        ]
        return programs

    def _slice(self, drawn: Sequence[str], number: int) -> Sequence[str]:
        start = number * self.wanted.turn
        return drawn[start : min(self.end, start + self.wanted.turn)] if number >= 0 else ()

    def is_repeated(self, schedule: str) -> bool:
        """Return whether a program is measured twice; the same in every run."""
        if not self.wanted.repeated:
            return False
        return int(digest(self.task.workload.hash, schedule)[:8], 16) % self.wanted.repeated == 0


def schedule_key(schedule: str) -> int:
    """Return a schedule's hash, to look it up by."""
    return int.from_bytes(blake2b(schedule.encode(), digest_size=8).digest(), "little")
