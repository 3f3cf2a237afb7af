"""One turn of a task in a process of its own, which says all that it finds through a pipe.

Its schedules, its programs and its failure are written by the process that collects: what runs a
stranger's schedules can change no journal.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_net.isolate import Limits, Needs, Sandbox, enter
from graph_net.isolate.deaths import raised
from graph_net.isolate.messages import encode, text_of
from graph_net.programs.collection.drawn_schedules import DrawnSchedules, schedules_in
from graph_net.programs.collection.journal import key_of_schedule
from graph_net.programs.collection.tasks import CollectedTask
from graph_net.programs.collection.trial import Trial, serve_trials, trial_limits
from graph_net.programs.spaces import Space, space_of
from graph_net.results import Stage

PATIENCE = 120
"""Seconds for making a space; a second for each draw, and the limits of each trial, on top."""
MOST_BYTES = 16 << 30
"""Address space of a task's process, so that it fails itself and not the machine."""


@dataclass(frozen=True)
class Turn:
    """Some of a task's schedules, to be drawn and measured."""

    task: CollectedTask
    start: int
    count: int
    samples: DrawnSchedules
    done: Set[int]
    """Schedules that have an outcome, hashed."""
    jobs: int

    @property
    def most_seconds(self) -> int:
        """How long it may take where every trial takes as long as it may."""
        seconds = trial_limits().seconds
        each = sum(seconds[stage] for stage in (Stage.COMPILE, Stage.MEASURE))
        return PATIENCE + self.count + int(self.count * each)

    def live(self, place: Path, writes: int) -> None:
        """The life of a turn's process, which writes to ``place`` alone."""
        # It holds the workers of its trials, and looks after them in /proc.
        needs = Needs(reads=(Path("/proc"), self.samples.path.parent.absolute()))
        enter(Limits(self.most_seconds, MOST_BYTES), Sandbox(place, needs), writes)
        try:
            space = space_of(self.task.workload)
            trials = self._trials(space, writes)
            serve_trials(trials, self.jobs, place / "lanes", writes)
        except Exception as error:
            death = raised(type(error).__name__, text_of(error), MOST_BYTES)
            _tell(writes, {"event": "failed", "why": f"{self.task.workload.name}: {death}"})

    def _trials(self, space: Space, writes: int) -> list[Trial]:
        """Draw what is not drawn yet, and say so; return what has no outcome."""
        end = self.start + self.count
        before, _ = self.samples.known(0, end)
        lines = self.samples.ahead(space, end)
        _tell(writes, {"event": "samples"}, lines)
        space.ready()
        named, flops = self.task.named(space.target), self.task.workload.flops
        schedules = [*before, *schedules_in(lines)][self.start : end]
        fresh = [one for one in schedules if key_of_schedule(one) not in self.done]
        return [Trial(space, named, schedule, flops) for schedule in fresh]


def _tell(pipe: int, tree: dict[str, Any], blob: bytes = b"") -> None:
    os.set_blocking(pipe, True)  # the lanes leave it as they need it
    data = memoryview(encode(tree, blob))
    while data:
        data = data[os.write(pipe, data) :]
