"""Time a program again if something else used its cores.

The runs of one trial agree with each other while another process shares their core, so their
spread does not show it; the kernel's counters do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graph_net.measure.device import Disturbances
from graph_net.results import Json

MOST_TRIES = 3
WAITED = 0.03
"""Share of the time that its threads may have waited for a core. A thread that shares its core
waits for half of the time; the kernel's own work takes some microseconds of a core at a time."""
LEAST_WAITED = 1e-3
"""Seconds that any trial may have waited."""
SWITCHES = 2
"""Involuntary switches that any trial may have (a timer, the kernel's own work), where the kernel
does not report how long it waited."""
SWITCHES_PER_SECOND = 25
"""Switches per second that are allowed; a process that shares its core has some 250."""
STEAL = 0.02
"""Share of the time that the hypervisor may have taken."""


@dataclass(frozen=True)
class TimedRuns:
    """The times of a program's runs, the number of tries, and whether all were disturbed."""

    costs: list[float]
    tries: int
    disturbed: bool

    @property
    def remarks(self) -> dict[str, Json]:
        """What is unusual about them; empty if the first try was undisturbed."""
        tries: dict[str, Json] = {"tries": self.tries} if self.tries > 1 else {}
        return tries | ({"disturbed": True} if self.disturbed else {})


def time_undisturbed(
    times: Callable[[], list[float]],
    clock: Callable[[], float],
    most_seconds: float,
    watch: Callable[[], Disturbances] = Disturbances,
) -> TimedRuns:
    """Call ``times`` until the counters show no disturbance; return the least disturbed times.

    Another try is not begun if it might exceed ``most_seconds`` in total.
    """
    began, best, least, tries = clock(), list[float](), float("inf"), 0
    while tries < MOST_TRIES:
        tries += 1
        start, counters = clock(), watch()
        costs = times()
        took = clock() - start
        excess = disturbance(counters.read(), took)
        if excess < least:
            best, least = costs, excess
        if least <= 1 or clock() - began + 2 * took > most_seconds:
            break
    return TimedRuns(best, tries, least > 1)


def disturbance(counters: Mapping[str, Json], seconds: float) -> float:
    """Return the counters relative to an undisturbed trial's limits; up to 1 is undisturbed."""
    steal = _number(counters, "steal_seconds")
    if "waited_seconds" in counters:
        shared = _number(counters, "waited_seconds") / max(WAITED * seconds, LEAST_WAITED)
    else:
        switches = _number(counters, "involuntary_switches")
        shared = switches / (SWITCHES + SWITCHES_PER_SECOND * seconds)
    return max(
        shared,
        # The kernel counts in hundredths of a second: a single one means nothing.
        (steal - 0.01) / max(STEAL * seconds, 1e-9) if steal > 0.01 else 0.0,
    )


def _number(counters: Mapping[str, Json], key: str) -> float:
    value = counters.get(key, 0.0)
    return float(value) if isinstance(value, int | float) else 0.0
