"""Collect programs: a bench measures turns of tasks and one journal stores the results.

A collection can be killed at any moment; the next run continues it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from graph_net.programs.collection.bench import Bench, LostTurn
from graph_net.programs.collection.journal import ProgramJournal
from graph_net.programs.collection.plan import Turn, Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.results import Program, canonical
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text


class Collection:
    """A journal of programs, and the bench that measures the missing ones."""

    def __init__(self, path: Path, wanted: Wanted, bench: Bench) -> None:
        self.wanted, self.bench = wanted, bench
        self.journal = ProgramJournal(path)
        self.lost: list[str] = []
        """Why turns ended early; the next run repeats these turns."""
        self._failures = path.with_name(path.name.partition(".")[0] + ".failed.json")
        self._failed: dict[str, str] = {}
        """Why tasks are skipped, by workload hash."""
        if self._failures.exists():
            self._failed = json.loads(read_text(self._failures))

    def failures(self, tasks: Sequence[CollectedTask]) -> list[str]:
        """Return why tasks are skipped, one message per skipped task."""
        return [self._failed[hash_] for hash_ in _hashes(tasks) if hash_ in self._failed]

    def retry(self, tasks: Sequence[CollectedTask]) -> None:
        """Stop skipping these tasks."""
        self._set_failed({h: why for h, why in self._failed.items() if h not in _hashes(tasks)})

    def _set_failed(self, failed: dict[str, str]) -> None:
        if failed != self._failed:
            self._failed = failed
            write_text(self._failures, canonical(dict(failed)))

    def missing(self, tasks: Sequence[CollectedTask]) -> int:
        """Return how many programs are not measured yet; an estimate until all are drawn."""
        total = 0
        for task in tasks:
            if task.workload.hash not in self._failed:
                most = self.bench.count(task, self._turn(task, 0).seed, self.wanted.per_task)
                total += max(0, most - len(self.journal.outcomes[task.workload.hash]))
        return total

    def run(self, tasks: Sequence[CollectedTask], until: float = math.inf) -> Iterator[Program]:
        """Measure missing programs until a deadline; yield each program as it finishes."""
        device = self.bench.device
        with closing(self.bench.run(self.turns(tasks), self.journal.best)) as events:
            try:
                for event in events:
                    if isinstance(event, Program):
                        program = replace(event, device=device)
                        self.journal.add(program)
                        yield program
                    elif isinstance(event, LostTurn):
                        self._note(event)
                    if time.monotonic() > until:
                        return
            finally:
                self.journal.close()

    def turns(self, tasks: Sequence[CollectedTask]) -> Iterator[Turn]:
        """Yield the turns of tasks in order, skipping tasks that have failed by then."""
        for number in range(self.wanted.turns):
            for task in tasks:
                if task.workload.hash not in self._failed:
                    yield self._turn(task, number)

    def _turn(self, task: CollectedTask, number: int) -> Turn:
        return Turn(task, number, self.wanted, self.journal.outcomes[task.workload.hash])

    def _note(self, problem: LostTurn) -> None:
        if problem.task:
            self._set_failed({**self._failed, problem.task: problem.text})
        else:
            self.lost.append(problem.text)


def _hashes(tasks: Sequence[CollectedTask]) -> list[str]:
    return [task.workload.hash for task in tasks]
