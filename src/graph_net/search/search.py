"""The search loop: propose, measure, record, until the budget is spent; then polish.

The incumbent is never lost: it is the fastest of all measured programs. If the plan says so, fast
programs are timed again before they are trusted; their cost is then the mean of the times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from graph_net.search.history import SearchHistory
from graph_net.search.measurer import Measurer, SearchError
from graph_net.search.proposer import Proposer
from graph_net.search.search_space import Chance, SearchSpace


@dataclass(frozen=True)
class SearchPlan:
    """The budget of a search, and how to spend it."""

    trials: int = 100
    """Number of measurements in total."""
    batch: int = 1
    """Programs that are proposed together."""
    polish: float = 0.2
    """Fraction of the measurements reserved for the incumbent's neighbourhood at the end."""
    retimed: int = 0
    """How many of the fastest are timed again after each batch, each at most ``times`` times."""
    times: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.trials, self.batch, self.times) < 1 or not 0 <= self.polish <= 1:
            raise SearchError(
                "a search has a trial, a batch and a time at least, polish from 0 to 1"
            )


@dataclass
class Search:
    """A search over one task, in batches, so that a scheduler can switch tasks in between."""

    space: SearchSpace
    measurer: Measurer
    proposer: Proposer
    plan: SearchPlan
    start: Sequence[str] = ()
    """Programs measured first, such as the one in use today."""
    history: SearchHistory = field(default_factory=SearchHistory)
    note: Callable[[str, float], None] = lambda schedule, seconds: None
    """Called with every measurement."""
    _chance: Chance = field(init=False)
    _polished: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._chance = Random(self.plan.seed)  # noqa: S311 - no secret

    @property
    def left(self) -> int:
        """How many measurements the plan still allows."""
        return self.plan.trials - len(self.history)

    def run(self) -> SearchHistory:
        """Search until the budget is spent or no program is left."""
        while self.left > 0 and self.step():
            pass
        return self.history

    def step(self) -> int:
        """Measure one batch; return the number of measurements, 0 if no program is left."""
        before = len(self.history)
        count = min(self.plan.batch, self.left)
        begun = [text for text in self.start if text not in self.history]
        if begun:
            self._measure(begun[:count])
            return len(self.history) - before
        proposed = self._near(count) if self._polishes() else []
        if not proposed:
            proposed = self.proposer.propose(self.space, self.history, count, self._chance)
        if not proposed:
            proposed = self.space.draw(count, self._chance, self.history)
        self._measure(proposed)
        self._retime()
        return len(self.history) - before

    def _polishes(self) -> bool:
        return self.left <= math.ceil(self.plan.polish * self.plan.trials) and bool(
            self.history.best
        )

    def _near(self, count: int) -> list[str]:
        """Return unmeasured neighbours of the fastest programs, the best first."""
        for incumbent in self.history.fastest(2):
            if incumbent in self._polished:
                continue
            around = self.space.neighbours(incumbent, self._chance)
            fresh = [text for text in around if text not in self.history]
            if fresh:
                return self.proposer.rank(self.space, self.history, fresh)[:count]
            self._polished.add(incumbent)
        return []

    def _measure(self, schedules: Sequence[str]) -> None:
        for schedule, seconds in zip(schedules, self.measurer.measure(schedules), strict=True):
            self.history.add(schedule, seconds)
            self.note(schedule, seconds)

    def _retime(self) -> None:
        """Time the fastest programs again: the fastest of many is often only lucky."""
        for schedule in self.history.fastest(self.plan.retimed):
            if self.left > 0 and self.history.times(schedule) < self.plan.times:
                self._measure([schedule])
