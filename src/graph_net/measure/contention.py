"""Time a program while its cores are its own, where somebody else may use them unseen.

A virtual machine's cores are mostly threads of physical ones. Whoever has the other thread takes
half of the arithmetic, for tens of milliseconds at a time, and no counter of ours shows it: not the
time that was stolen, nor switches, nor the spread of runs that follow each other closely. What
shows it is a short computation of known length, the gauge, before and after each run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

TOLERANCE = 1.08
"""A gauge that takes this much longer than its least time ran on shared cores."""
PATIENCE = 0.75
"""Seconds to wait for cores that are not shared, over all runs of a program."""
ENOUGH = 3
"""Runs on cores of their own that are worth more than a full number of shared ones."""


@dataclass
class Gauge:
    """A computation whose least time is known once it was seen often enough."""

    run: Callable[[], float]
    """Compute on all cores that a program uses; return the seconds."""
    least: float = field(default=float("inf"))

    def is_alone(self) -> bool:
        """Run once, and return whether the cores were not shared meanwhile."""
        seconds = self.run()
        self.least = min(self.least, seconds)
        return seconds <= TOLERANCE * self.least


@dataclass(frozen=True)
class GaugedRuns:
    """The seconds of runs, and whether their cores were shared."""

    costs: list[float]
    shared: bool = False


def time_alone(
    run: Callable[[], float],
    gauge: Gauge,
    repeats: int,
    clock: Callable[[], float],
    patience: float = PATIENCE,
) -> GaugedRuns:
    """Return ``repeats`` runs between two gauges that found the cores free.

    After ``patience`` seconds a few of them are enough; where there are fewer, all runs are
    returned, the shared ones too.
    """
    alone: list[float] = []
    shared: list[float] = []
    until = clock() + patience
    while len(alone) < repeats:
        late = clock() >= until
        if late and (len(alone) >= ENOUGH or len(alone) + len(shared) >= repeats):
            break
        if not gauge.is_alone() and not late:
            continue
        seconds = run()
        (alone if gauge.is_alone() else shared).append(seconds)
    if len(alone) >= min(ENOUGH, repeats):
        return GaugedRuns(alone)
    return GaugedRuns(alone + shared, shared=True)
