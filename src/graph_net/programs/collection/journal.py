"""The programs of a collection, one per line, in an append-only file."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from graph_net.programs.collection.outcome import is_final
from graph_net.programs.collection.plan import schedule_key
from graph_net.results import Program, program_to_json
from graph_net.store.journal import LineJournal, cut_torn_line, whole_lines


class ProgramJournal:
    """A file of programs, compressed if its name ends in ``.gz``, which is read once.

    Several collections may append to one file, one after another; a torn last line is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: defaultdict[str, Counter[int]] = defaultdict(Counter)
        """How often each schedule of a workload, by its key, has been measured."""
        self.best: dict[str, float] = {}
        """The mean seconds of each workload's best program."""
        self.targets: set[str] = set()
        self._seconds: Counter[str] = Counter()
        self._lines: LineJournal | None = None
        cut_torn_line(path)
        if path.exists():
            for line in whole_lines(path):
                self._read(line)

    def _read(self, line: bytes) -> None:
        try:
            tree = json.loads(line)
            task, costs, seconds = tree["task"], tree["costs"], tree["seconds"]
            self._note(task["workload"], task["target"], tree["schedule"], costs, seconds or 0.0)
        except (ValueError, KeyError, TypeError):
            return  # a program not written by a collection has no outcome

    def _note(
        self, workload: str, target: str, schedule: str, costs: Sequence[float], seconds: float
    ) -> None:
        self.outcomes[workload][schedule_key(schedule)] += 1
        self.targets.add(target)
        self._seconds[workload] += seconds  # type: ignore[assignment]
        if costs:
            self.best[workload] = min(fmean(costs), self.best.get(workload, math.inf))

    def seconds(self, workload: str) -> float:
        """Return the mean seconds of building and measuring a program; NaN if there is none."""
        measured = self.outcomes[workload].total()
        return self._seconds[workload] / measured if measured else math.nan

    def add(self, program: Program) -> bool:
        """Append a program that has an outcome; return whether it had one."""
        if not is_final(program):
            return False
        if self._lines is None:
            self._lines = LineJournal(self.path, durable=False)
        self._lines.append(program_to_json(program).encode())
        task, seconds = program.task, program.seconds or 0.0
        self._note(task.workload, task.target, program.schedule, program.costs, seconds)
        return True

    def close(self) -> None:
        """Close the file; adding reopens it."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None
