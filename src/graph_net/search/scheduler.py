"""Choose the task of a network to tune next: Ansor's gradient over the network's weights.

The gradient of a task estimates how much one more round lowers the network's time. It combines the
gain of the last rounds with an optimistic guess of the remaining gain: that the time falls to that
of similar tasks, or to zero in as many rounds again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from graph_net.search.measurer import SearchError

PAST = 0.2
"""Weight of the gain of the last rounds (Ansor's alpha); the rest is for the remaining gain."""
WINDOW = 3
"""Number of rounds over which the past gain is taken."""
SIMILAR = 2.0
"""A task may hope to be this many times as fast, for its work, as the best similar task."""


@dataclass(frozen=True)
class ScheduledTask:
    """A task of a network."""

    name: str
    weight: float
    """How often the network calls the task."""
    flops: float = 0.0
    kind: str = ""
    """Tasks of one kind are similar: one may reach the speed of another."""

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise SearchError(f"{self.name}: a weight is a positive number, not {self.weight}")


@dataclass
class TaskScheduler:
    """Chooses tasks in turn, by the expected gain of another round."""

    tasks: Sequence[ScheduledTask]
    _best: list[list[float]] = field(init=False)
    """Best seconds of each task after each of its rounds."""
    _done: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise SearchError("nothing to schedule: the network has no task")
        self._best = [[] for _ in self.tasks]

    def choose(self) -> int | None:
        """Return the task to tune next; None if all are exhausted.

        Every task gets one round first.
        """
        open_ = [place for place in range(len(self.tasks)) if place not in self._done]
        fresh = [place for place in open_ if not self._best[place]]
        if fresh:
            return fresh[0]
        return max(open_, key=self.gradient, default=None)

    def note(self, place: int, seconds: float) -> None:
        """Record the best seconds of a task after a round."""
        before = self._best[place][-1] if self._best[place] else math.inf
        self._best[place].append(min(before, seconds))

    def exhaust(self, place: int) -> None:
        """Stop choosing a task: it has no program left."""
        self._done.add(place)

    def rounds(self, place: int) -> int:
        """Return how many rounds a task has had."""
        return len(self._best[place])

    @property
    def latency(self) -> float:
        """The seconds of the network with the best program of each task."""
        return sum(
            task.weight * (best[-1] if best else math.inf)
            for task, best in zip(self.tasks, self._best, strict=True)
        )

    def gradient(self, place: int) -> float:
        """Return the expected gain of the network, in seconds, from a round of a task."""
        task, best = self.tasks[place], self._best[place]
        if not math.isfinite(best[-1]):
            return 0.0
        past = self._past_gain(best)
        hoped = min(best[-1], max(best[-1] / len(best), best[-1] - self._similar(place)))
        return task.weight * (PAST * past + (1 - PAST) * max(hoped, 0.0))

    def _past_gain(self, best: Sequence[float]) -> float:
        window = min(WINDOW, len(best) - 1)
        before = best[-1 - window]
        if window < 1 or not math.isfinite(before):
            return 0.0
        return (before - best[-1]) / window

    def _similar(self, place: int) -> float:
        """Return the seconds that the task would take at the rate of the best of its kind."""
        task = self.tasks[place]
        rates = [
            other.flops / best[-1]
            for other, best in zip(self.tasks, self._best, strict=True)
            if other.kind == task.kind and other.flops and best and math.isfinite(best[-1])
        ]
        if not task.flops or not rates:
            return math.inf
        return SIMILAR * task.flops / max(rates)
