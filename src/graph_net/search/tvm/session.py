"""Tuning a graph: rounds over its tasks, every program in a journal, until the trials are spent.

Killed at any moment and started again, it goes on where it was: the journal holds every program
that was measured, in the format of a collection, so ``graph-net ingest`` reads it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from statistics import fmean

from graph_net.programs.collection.outcome import is_final
from graph_net.programs.collection.task import CollectedTask
from graph_net.results import Program, RecordError, program_from_json, program_to_json
from graph_net.search.history import SearchHistory
from graph_net.search.measurer import SearchError
from graph_net.search.proposer import Proposer
from graph_net.search.scheduler import ScheduledTask, TaskScheduler
from graph_net.search.tvm.network import NetworkFunction
from graph_net.search.tvm.tuning_round import TuningRound, run_round
from graph_net.store.journal import LineJournal, whole_lines

JOURNAL = "programs.jsonl"
MOST_LOST = 3
"""Rounds of a task in a row without a program, after which it is tuned no more."""
Watch = Callable[["TuningSession", int], None]
"""Hears of a round: the session, and the task's place."""


@dataclass
class TuningSession:
    """The tasks of one graph, what was measured of each, and which is next."""

    work: Path
    functions: list[NetworkFunction]
    proposers: list[Proposer]
    """One for each function."""
    trials: int
    batch: int = 8
    jobs: int = 1
    seed: int = 0
    problems: list[str] = field(default_factory=list)
    last_failure: str = ""
    """Why the last program that failed did, in this run."""
    histories: list[SearchHistory] = field(init=False)
    scheduler: TaskScheduler = field(init=False)

    def __post_init__(self) -> None:
        if self.trials < len(self.functions):
            raise SearchError(
                f"{self.trials} trials are fewer than the {len(self.functions)} tasks of this "
                "graph: give each one at least"
            )
        self.histories = [SearchHistory() for _ in self.functions]
        self.scheduler = TaskScheduler(
            [
                ScheduledTask(
                    function.workload.name,
                    function.weight,
                    function.workload.flops,
                    function.workload.name.partition("_")[0],
                )
                for function in self.functions
            ]
        )
        self._lost = [0] * len(self.functions)
        for place, programs in self._recorded():
            self._note(place, programs)

    @cached_property
    def tasks(self) -> list[CollectedTask]:
        """The functions as a collection has them."""
        return [
            CollectedTask(function.workload, "", "", weights={"graph": function.weight})
            for function in self.functions
        ]

    @property
    def measured(self) -> int:
        """How many measurements were made, now and before."""
        return sum(map(len, self.histories))

    def run(self, watch: Watch = lambda session, place: None) -> None:
        """Tune until the trials are spent, or no task has a program left."""
        while (left := self.trials - self.measured) > 0:
            place = self.scheduler.choose()
            if place is None:
                return
            self._round(place, min(self._size, left))
            watch(self, place)

    def best(self) -> dict[str, tuple[str, float]]:
        """Return the best schedule of each task and its seconds, by the workload's hash."""
        return {
            function.workload.hash: (history.best, history.best_seconds)
            for function, history in zip(self.functions, self.histories, strict=True)
            if history.best is not None
        }

    @property
    def _size(self) -> int:
        """Programs of a round: no task takes the trials of those that had none yet."""
        return max(1, min(self.batch, self.trials // len(self.functions)))

    def _round(self, place: int, count: int) -> None:
        process = TuningRound(
            self.tasks[place],
            self.proposers[place],
            self.histories[place],
            count,
            self.jobs,
            self.seed,
        )
        programs, problems = run_round(self.work, self.jobs, process)
        self.problems += problems
        for program in programs:
            if (failed := program.failure) is not None:
                self.last_failure = f"{failed.stage}: {failed.symptom}: {failed.message}"
        final = [program for program in programs if is_final(program)]
        with LineJournal(self.work / JOURNAL) as journal:
            for program in final:
                journal.append(program_to_json(program).encode())
        self._lost[place] = 0 if final else self._lost[place] + 1
        if self._lost[place] >= MOST_LOST or not (programs or problems):
            self.scheduler.exhaust(place)  # it has no program left, or none that can be measured
        self._note(place, final)

    def _note(self, place: int, programs: list[Program]) -> None:
        history = self.histories[place]
        for program in programs:
            history.add(program.schedule, fmean(program.costs) if program.costs else math.inf)
        self.scheduler.note(place, history.best_seconds)

    def _recorded(self) -> Iterator[tuple[int, list[Program]]]:
        """Yield what the journal holds of these tasks, round by round."""
        path = self.work / JOURNAL
        places = {function.workload.hash: place for place, function in enumerate(self.functions)}
        programs = []
        for line in whole_lines(path) if path.exists() else ():
            try:
                program = program_from_json(line)
            except (RecordError, ValueError):
                continue  # what no session wrote is no measurement
            if program.task.workload in places:
                programs.append(program)
        for hash_, several in groupby(programs, key=lambda program: program.task.workload):
            yield places[hash_], list(several)
