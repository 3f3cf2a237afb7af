"""The bench of layouts: many processes rewrite, one at a time measures, a journal stores results.

On a GPU, graphs are rewritten while others are measured. On a CPU nothing else runs during a
measurement. A process that dies loses only its current layout.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from typing import Any

from graph_net.configs.layouts.layout_journal import LayoutJournal
from graph_net.configs.layouts.layout_workers import (
    TurnItem,
    WorkerSettings,
    rewriter,
    timer,
)
from graph_net.configs.layouts.plan import (
    LayoutsWanted,
    LayoutTask,
    PendingLayout,
    pending_layouts,
)
from graph_net.configs.layouts.rewritten import Rewritten, parse_rewritten, read_failure
from graph_net.configs.layouts.sites import Site
from graph_net.isolate import Ending, Finished, Limits, Sandbox
from graph_net.isolate.lane import Lane
from graph_net.results import Device, Failure, Program, Stage, Symptom, Task, canonical, digest
from graph_net.results.death import failure_from

SECONDS, COMPILE_SECONDS = 240, 900
"""Seconds for rewriting a piece or measuring a turn, and the same with a compiler."""
AHEAD = 3
"""Number of turns that are rewritten ahead of measuring."""
PIECE = 5
"""Layouts that one process rewrites at a time; one if they are compiled."""


@dataclass
class _Turn:
    """A turn in progress: its layouts, and those whose graphs are ready."""

    task: int
    layouts: list[PendingLayout]
    ready: dict[str, Rewritten] = field(default_factory=dict)
    waiting: int = 0


@dataclass
class LayoutBench:
    """Collects layouts of graphs into a journal."""

    tasks: Sequence[LayoutTask]
    sites: Sequence[tuple[Site, ...]]
    device: Device
    wanted: LayoutsWanted
    journal: LayoutJournal
    settings: WorkerSettings
    sandbox: Sandbox
    jobs: int = 1
    until: float = math.inf
    lost: list[str] = field(default_factory=list)
    """Graphs that were left out, and the reasons."""

    def __post_init__(self) -> None:
        self.target = f"{self.device.kind}: {self.device.name}"
        limits = Limits(SECONDS if self.is_eager else COMPILE_SECONDS, None)
        self.rewriting: Lane[TurnItem] = Lane(
            rewriter(self.settings), self.jobs, limits, self.sandbox
        )
        self.measuring: Lane[TurnItem] = Lane(timer(self.settings), 1, limits, self.sandbox)
        self._named: dict[int, Task] = {}
        self._left_out: set[int] = set()
        self._rewritten: dict[int, _Turn] = {}
        self._pieces: deque[tuple[_Turn, TurnItem]] = deque()
        self._coming = (
            (n, task) for n in range(self.wanted.turns) for task in range(len(self.tasks))
        )
        self._held: tuple[int, int] | None = None
        self._under_way: set[int] = set()

    @property
    def overlaps(self) -> bool:
        """Whether graphs are rewritten while others are measured."""
        return self.settings.device != "cpu" and self.is_eager

    @property
    def is_eager(self) -> bool:
        """Whether nothing is compiled."""
        return self.settings.compiler == "eager"

    def named(self, task: int) -> Task:
        """Return the Task that a graph's programs refer to."""
        if task not in self._named:
            known = self.tasks[task].named(self.target, self.wanted, self.sites[task])
            self._named[task] = known
        return self._named[task]

    def run(self) -> Iterator[Program]:
        """Measure missing layouts until time is up; yield results as they are written."""
        ready, active = deque[_Turn](), list[_Turn]()
        measured: _Turn | None = None
        try:
            while time.monotonic() < self.until:
                self._start_turns(active, ready)
                if measured is None and ready and (self.overlaps or not self.rewriting.busy):
                    measured = ready.popleft()
                    yield from self._begin(measured)
                if measured is not None and not self.measuring.busy:
                    self._under_way.discard(measured.task)
                    measured = None
                    continue
                if measured is None and not active and not ready:
                    return
                wait(self.rewriting.descriptors() + self.measuring.descriptors(), timeout=0.2)
                self._take_rewritten(active, ready)
                for done in self.measuring.take_finished():
                    assert measured is not None
                    yield from self._take_measured(measured, done)
                    yield from self._begin(measured)
        finally:
            self.rewriting.stop()
            self.measuring.stop()
            self.journal.close()

    def _next_turn(self) -> _Turn | None:
        """Return the next turn with layouts; None at the end, or while its graph is busy.

        A turn draws from earlier measurements of its graph, so a graph has one turn at a time.
        """
        while True:
            self._held = self._held or next(self._coming, None)
            if self._held is None or self._held[1] in self._under_way:
                return None
            (number, task), self._held = self._held, None
            if task in self._left_out:
                continue
            outcomes = self.journal.outcomes[self.named(task).workload]
            to_measure = self.tasks[task].to_measure
            if layouts := pending_layouts(
                self.sites[task], number, self.wanted, outcomes, to_measure
            ):
                self._under_way.add(task)
                return _Turn(task, layouts)

    def _start_turns(self, active: list[_Turn], ready: deque[_Turn]) -> None:
        """Give pieces of turns to the rewriting processes, up to AHEAD turns ahead."""
        if not self.overlaps and (self.measuring.busy or ready):
            return
        most = AHEAD if self.overlaps else 1
        while not self._pieces and len(active) + len(ready) < most:
            turn = self._next_turn()
            if turn is None:
                break
            active.append(turn)
            schedules = [layout.schedule for layout in turn.layouts]
            piece = PIECE if self.is_eager else 1
            for start in range(0, len(schedules), piece):
                turn.waiting += 1
                item = TurnItem(turn.task, tuple(schedules[start : start + piece]))
                self._pieces.append((turn, item))
        while self._pieces and self.rewriting.free:
            turn, item = self._pieces.popleft()
            self._rewritten[id(item)] = turn
            self.rewriting.give(item)

    def _take_rewritten(self, active: list[_Turn], ready: deque[_Turn]) -> None:
        for done in self.rewriting.take_finished():
            turn = self._rewritten.pop(id(done.item))
            answers = parse_rewritten(done.answers, len(done.item.schedules))
            turn.ready.update(zip(done.item.schedules, answers, strict=True))
            if turn.task not in self._left_out and answers and answers[0].unusable:
                self._leave_out(turn, answers[0].unusable)
            turn.waiting -= 1
            if not turn.waiting:
                active.remove(turn)
                ready.append(turn)

    def _begin(self, turn: _Turn) -> Iterator[Program]:
        """Send the rewritten layouts to the measuring process; the others have failed."""
        if turn.task in self._left_out:
            return
        for layout in [one for one in turn.layouts if turn.ready[one.schedule].failure]:
            turn.layouts.remove(layout)
            failure = turn.ready[layout.schedule].failure
            assert failure is not None
            yield from self._keep(turn, layout, failure, {})
        if turn.layouts:
            schedules = tuple(layout.schedule for layout in turn.layouts)
            graphs = tuple(turn.ready[schedule].graph for schedule in schedules)
            seed = int(digest(*schedules)[:8], 16)
            self.measuring.give(TurnItem(turn.task, schedules, graphs, self.wanted.repeats, seed))

    def _take_measured(self, turn: _Turn, done: Finished[TurnItem]) -> Iterator[Program]:
        """Yield the results of a turn; after a death, that of the current layout."""
        answer = _results(done.answers)
        if answer:
            for layout, result in zip(turn.layouts, answer["results"], strict=True):
                yield from self._result(turn, layout, result, answer, done.seconds)
            turn.layouts.clear()
            return
        reached = [one["at"] for one in done.answers if isinstance(one, dict) and "at" in one]
        at = reached[-1] if reached else -1
        why = str(done.death or "no answer")
        if not 0 <= at < len(turn.layouts):
            self._leave_out(turn, why)
            return
        layout = turn.layouts.pop(at)
        if done.death is not None and done.death.ending not in (Ending.EXCEPTION, Ending.NO_ANSWER):
            failure = failure_from(done.death, Stage.FIRST_RUN)
        else:
            failure = Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, why[:300])
        yield from self._keep(turn, layout, failure, {}, done.seconds)

    def _leave_out(self, turn: _Turn, why: str) -> None:
        """Exclude a graph whose original cannot be measured, or whose turn dies as a whole."""
        self._left_out.add(turn.task)
        self.lost.append(f"{self.tasks[turn.task].subject.name}: {why}")
        turn.layouts.clear()

    def _result(
        self, turn: _Turn, layout: PendingLayout, result: Any, answer: Any, seconds: float
    ) -> Iterator[Program]:
        extra: dict[str, Any] = {"control": list(answer["control"]), **answer["remarks"]}
        extra["second"] = list(answer["second"])
        share = seconds / max(1, len(turn.layouts))
        if "failure" in result:
            yield from self._keep(turn, layout, read_failure(result["failure"]), {}, share)
            return
        extra |= {"error": float(f"{result['error']:.3g}")}
        yield from self._keep(turn, layout, result["costs"], extra, share)

    def _keep(
        self, turn: _Turn, layout: PendingLayout, outcome: Any, extra: Any, seconds: float = 0.0
    ) -> Iterator[Program]:
        noted: dict[str, Any] = {"turn": layout.turn, "copies": turn.ready[layout.schedule].facts}
        noted |= {"again": True} if layout.again else {"search": str(layout.search)}
        is_failure = isinstance(outcome, Failure)
        program = Program.from_log(
            self.named(turn.task),
            layout.schedule,
            () if is_failure else tuple(outcome),
            outcome if is_failure else None,
            seconds=round(seconds, 4),
            measured=round(time.time(), 3),
            extra=canonical({**noted, **extra}),
        )
        program = replace(program, device=self.device)
        if self.journal.add(program):
            yield program


def _results(answers: Sequence[Any]) -> dict[str, Any]:
    """Return the answer with the times of a turn; empty if there is none."""
    for answer in answers:
        if isinstance(answer, dict) and "results" in answer:
            return answer
    return {}
