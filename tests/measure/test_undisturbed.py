"""A trial that shared its cores is timed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from graph_net.measure.device import Disturbances
from graph_net.measure.undisturbed import TimedRuns, disturbance, time_undisturbed
from graph_net.results import Json

SECOND = 1.0


class Scripted(Disturbances):
    """Counters of a try that somebody wrote down."""

    def __init__(self, switches: float) -> None:
        self.switches = switches

    def read(self) -> dict[str, Json]:
        return {"involuntary_switches": self.switches}


def timed(switches: Sequence[float], most_seconds: float = 60.0) -> tuple[TimedRuns, int]:
    """Time a program whose tries take a second each and have so many switches."""
    waiting, tries = iter(switches), iter(range(1, len(switches) + 1))
    calls = 0

    def times() -> list[float]:
        nonlocal calls
        calls += 1
        return [float(next(tries))]

    def clock() -> float:
        return calls * SECOND

    watch: Callable[[], Disturbances] = lambda: Scripted(next(waiting))  # noqa: E731
    return time_undisturbed(times, clock, most_seconds, watch), calls


def test_what_nothing_disturbed_is_timed_once_and_has_no_remarks() -> None:
    runs, calls = timed([3])
    assert (runs.costs, runs.remarks, calls) == ([1.0], {}, 1)


def test_what_was_disturbed_is_timed_again() -> None:
    runs, calls = timed([250, 3])
    assert (runs.costs, runs.remarks, calls) == ([2.0], {"tries": 2}, 2)


def test_what_stays_disturbed_keeps_the_least_disturbed_times_and_says_so() -> None:
    runs, calls = timed([250, 90, 240])
    assert (runs.costs, calls) == ([2.0], 3)
    assert runs.remarks == {"tries": 3, "disturbed": True}


def test_a_slow_program_is_not_timed_again_past_its_limit() -> None:
    runs, calls = timed([250], most_seconds=2.5)
    assert (runs.remarks, calls) == ({"disturbed": True}, 1)


@pytest.mark.parametrize(
    ("counters", "disturbed"),
    [
        ({}, False),
        ({"involuntary_switches": 20.0, "steal_seconds": 0.01}, False),
        ({"involuntary_switches": 40.0}, True),
        ({"steal_seconds": 0.05}, True),
    ],
)
def test_switches_and_stolen_time_are_disturbances(
    counters: dict[str, Json], disturbed: bool
) -> None:
    assert (disturbance(counters, SECOND) > 1) == disturbed
