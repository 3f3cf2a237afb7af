"""Time a program while nobody else uses its cores, on machines where such use is not reported.

The cores of a virtual machine are mostly hardware threads of physical cores. A neighbour on the
other thread takes half of the throughput for tens of milliseconds at a time, and no counter in the
virtual machine shows it: not steal time, not context switches, not the spread of consecutive runs.
A short computation of known length, the gauge, shows it: it runs before and after each run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

TOLERANCE = 1.08
"""A gauge that takes this much longer than its least time ran on shared cores."""
PATIENCE = 0.75
"""Seconds to wait for cores that are not shared, over all runs of a program."""
ENOUGH = 3
"""This many runs on unshared cores are better than all repeats on shared ones."""


@dataclass
class Gauge:
    """A computation whose least time is known after enough runs of it."""

    run: Callable[[], float]
    """Compute on all cores that a program uses; return the seconds."""
    least: float = field(default=float("inf"))

    def is_alone(self) -> bool:
        """Run it once; return whether the cores were unshared meanwhile."""
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
    """Return ``repeats`` runs, each between two gauges that found the cores unshared.

    After ``patience`` seconds ``ENOUGH`` such runs suffice; if there are fewer, all runs are
    returned, including those on shared cores.
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
