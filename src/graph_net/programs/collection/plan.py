"""Which programs are measured, and when: the same for the same tasks and seed, on every device.

Tasks take turns, so that a part of a collection is an even sample of all of them. A few programs
are measured twice, some turns apart: the difference of the two times is the noise.
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
"""Rounds of turns between the two measurements of a program."""


@dataclass(frozen=True)
class Wanted:
    """How many programs per task and per turn, and the seed that draws them."""

    per_task: int
    seed: int = 0
    turn: int = 32
    repeated: int = 50
    """One program in this many is measured twice; 0 for none."""

    @property
    def turns(self) -> int:
        """Turns per task; the last ones measure repeated programs only."""
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
    """Seconds of compiling the program, if that was done apart from measuring."""


@dataclass(frozen=True)
class Turn:
    """Some programs of one task: the next of its sample, and those due a second time."""

    task: CollectedTask
    number: int
    wanted: Wanted
    outcomes: Mapping[int, int]
    """How often each schedule, by its key, has been measured; grows while programs finish."""

    @property
    def seed(self) -> int:
        """Seed of the task's schedules; differs by task, even for tasks with the same choices."""
        name = self.task.workload.hash
        if not _HEXADECIMAL.match(name):  # a plug-in's hash may have another form
            name = digest(name)
        return int(name[:8], 16) ^ self.wanted.seed

    @property
    def end(self) -> int:
        """Number of schedules that must be drawn for this turn."""
        return min(self.wanted.per_task, (self.number + 1) * self.wanted.turn)

    def pending(self, drawn: Sequence[str]) -> list[PendingProgram]:
        """Return the programs not measured yet, given the first ``end`` schedules of the task."""
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
        """Return whether a program is measured twice; the answer is the same in every run."""
        if not self.wanted.repeated:
            return False
        return int(digest(self.task.workload.hash, schedule)[:8], 16) % self.wanted.repeated == 0


def schedule_key(schedule: str) -> int:
    """Return a schedule's hash, as used for lookup."""
    return int.from_bytes(blake2b(schedule.encode(), digest_size=8).digest(), "little")
