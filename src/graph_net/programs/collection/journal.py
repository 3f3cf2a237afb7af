"""The programs of one task that are measured, a line each, in a file that is only added to."""

from __future__ import annotations

import json
import math
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from statistics import fmean

from graph_net.results import RETRIED, Program, program_to_json
from graph_net.store.journal import LineJournal, cut_torn_line, whole_lines


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
        lines = whole_lines(self.path)
        return {key_of_schedule(json.loads(line)["schedule"]) for line in lines}

    def seconds(self) -> float:
        """What a program took on average, from its building to its end; NaN where there is none."""
        if not self.done:
            return math.nan
        return fmean(json.loads(line)["seconds"] or 0.0 for line in whole_lines(self.path))

    def has(self, schedule: str) -> bool:
        """Whether a schedule has an outcome."""
        return key_of_schedule(schedule) in self.done

    def add(self, program: Program) -> None:
        """Append one program; what the machine is to blame for is no outcome, and tried again."""
        if program.failure is not None and program.failure.symptom in RETRIED:
            return
        self.done.add(key_of_schedule(program.schedule))
        with LineJournal(self.path, durable=False) as lines:
            lines.append(program_to_json(program).encode())


def key_of_schedule(schedule: str) -> int:
    """A schedule, hashed."""
    return int.from_bytes(blake2b(schedule.encode(), digest_size=8).digest(), "little")
