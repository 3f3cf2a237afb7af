"""A trial that shared its cores is timed again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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
        ({"waited_seconds": 0.02, "involuntary_switches": 400.0}, False),
        ({"waited_seconds": 0.04, "involuntary_switches": 4.0}, True),
    ],
)
def test_waiting_for_a_core_and_stolen_time_are_disturbances(
    counters: dict[str, Json], disturbed: bool
) -> None:
    assert (disturbance(counters, SECOND) > 1) == disturbed


def test_switches_that_take_no_time_disturb_nothing_where_the_kernel_tells_the_time() -> None:
    assert disturbance({"waited_seconds": 0.0, "involuntary_switches": 1e6}, SECOND) == 0


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel does not tell")
def test_a_process_that_waits_for_its_core_is_seen() -> None:
    """Three of them on one core wait for each other, whatever else the machine does."""
    taken = os.sched_getaffinity(0)
    core = min(taken)
    spin = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    others = [
        subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for other in others:
            assert other.stdout
            assert other.stdout.readline()
        os.sched_setaffinity(0, {core})
        counters, began = Disturbances(), time.process_time()
        while time.process_time() - began < 0.05:
            pass
        assert disturbance(counters.read(), 0.05) > 1
    finally:
        os.sched_setaffinity(0, taken)
        for other in others:
            other.kill()
            other.communicate()
