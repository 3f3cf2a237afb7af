"""The measured layouts of a collection, one Program per line, in an append-only file."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from graph_net.results import RETRIED, Program, program_to_json
from graph_net.store.journal import LineJournal, cut_torn_line, whole_lines


@dataclass
class GraphOutcomes:
    """The results of one graph so far."""

    workload: str
    count: Counter[str] = field(default_factory=Counter)
    """How often each layout was measured, by its text."""
    first_turn: dict[str, int] = field(default_factory=dict)
    per_turn: Counter[int] = field(default_factory=Counter)
    """First measurements per turn."""
    ranked: dict[str, float] = field(default_factory=dict)
    """Time of each layout over the original's in the same turn."""

    def add(self, schedule: str, costs: list[float], extra: dict[str, Any]) -> None:
        """Count a result."""
        self.count[schedule] += 1
        turn = int(extra.get("turn", 0))
        if not extra.get("again"):
            self.first_turn.setdefault(schedule, turn)
            self.per_turn[turn] += 1
        if costs and extra.get("control"):
            self.ranked[schedule] = median(costs) / median(extra["control"])

    def best(self) -> list[str]:
        """Return the layouts that worked, fastest first."""
        return sorted(self.ranked, key=lambda schedule: self.ranked[schedule])


class LayoutJournal:
    """A file of programs, compressed if its name ends in ``.gz``; read once, then appended to.

    A torn last line is dropped, and lines that no collection wrote are skipped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: defaultdict[str, GraphOutcomes] = _Outcomes()
        self.targets: set[str] = set()
        self._lines: LineJournal | None = None
        cut_torn_line(path)
        if path.exists():
            for line in whole_lines(path):
                self._read(line)

    def _read(self, line: bytes) -> None:
        try:
            tree = json.loads(line)
            task, extra = tree["task"], json.loads(tree["extra"] or "{}")
            self.targets.add(str(task["target"]))
            self.outcomes[str(task["workload"])].add(str(tree["schedule"]), tree["costs"], extra)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return

    def add(self, program: Program) -> bool:
        """Append a program that has an outcome; return whether it had one."""
        if program.failure is not None and program.failure.symptom in RETRIED:
            return False
        if self._lines is None:
            self._lines = LineJournal(self.path, durable=False)
        self._lines.append(program_to_json(program).encode())
        task = program.task
        self.targets.add(task.target)
        extra = json.loads(program.extra or "{}")
        self.outcomes[task.workload].add(program.schedule, list(program.costs), extra)
        return True

    def close(self) -> None:
        """Close the file; adding reopens it."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None


class _Outcomes(defaultdict[str, GraphOutcomes]):
    def __missing__(self, workload: str) -> GraphOutcomes:
        found = self[workload] = GraphOutcomes(workload)
        return found
