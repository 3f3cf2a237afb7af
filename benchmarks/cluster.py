"""What a cluster costs: the driver's overhead per task, and growth from 1 to 8 lanes.

Both run on a local Ray cluster, with the ideal beside them: no overhead, and as many times the
speed of one lane as there are lanes. The lanes sleep, so that their number may exceed the cores.
Claims: an empty task costs the driver at most 3 ms of its own processor time, and 8 lanes of 50 ms
of work reach at least half of 8 times the speed of one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.common import show, verdict
from graph_net.cluster.connection import Cluster
from graph_net.cluster.dispatch import dispatch

LANES = (1, 2, 4, 8)


class SleepingLane:
    """An actor that sleeps in place of measuring."""

    def work(self, seconds: float) -> None:
        """Sleep."""
        if seconds:
            time.sleep(seconds)


class Sleepers:
    """A crew of such actors; each is a place, and none is ever lost."""

    def __init__(self, cluster: Cluster, lanes: int, seconds: float, room: int) -> None:
        actor = cluster.ray.remote(num_cpus=0)(SleepingLane)
        self.seconds = seconds
        self._places = [_SleepingPlace(actor.remote(), seconds, room) for _ in range(lanes)]
        cluster.ray.get([place.send(0) for place in self._places])

    def places(self) -> Sequence[_SleepingPlace]:
        return self._places

    def awaited(self) -> Sequence[Any]:
        return []

    def stop(self, out: Sequence[Any]) -> None:
        """Leave the end of the actors to the last reference to them."""


class _SleepingPlace:
    def __init__(self, actor: Any, seconds: float, room: int) -> None:
        self.actor, self.seconds, self.room = actor, seconds, room

    def takes(self, item: int) -> bool:
        return True

    def send(self, item: int) -> Any:
        return self.actor.work.remote(self.seconds)

    def lost(self) -> None:
        raise AssertionError("a lane was lost")

    def failed(self, reason: str) -> None:
        raise AssertionError(reason)


def overhead(cluster: Cluster, count: int) -> tuple[float, float]:
    """Return the seconds per empty task: of the clock, and of the driver's processor."""
    crew = Sleepers(cluster, 1, 0.0, room=64)
    clock, processor = time.perf_counter(), time.process_time()
    assert sum(1 for _ in dispatch(cluster, range(count), crew)) == count
    return (time.perf_counter() - clock) / count, (time.process_time() - processor) / count


def growth(cluster: Cluster, lanes: int, seconds: float, each: int) -> float:
    """Return tasks per second of so many lanes, each with ``each`` tasks."""
    crew = Sleepers(cluster, lanes, seconds, room=3)
    start = time.perf_counter()
    done = sum(1 for _ in dispatch(cluster, range(lanes * each), crew))
    return done / (time.perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000, help="empty tasks")
    parser.add_argument("--each", type=int, default=40, help="sleeping tasks per lane")
    parser.add_argument("--seconds", type=float, default=0.05, help="what one of them sleeps")
    options = parser.parse_args()
    cluster = Cluster()
    try:
        wall, processor = overhead(cluster, options.tasks)
        rates = {n: growth(cluster, n, options.seconds, options.each) for n in LANES}
    finally:
        cluster.close()
    show(
        f"{options.tasks:,} empty tasks on one lane, {os.cpu_count()} cores",
        ("", "µs per task", "ideal"),
        [
            ("clock", f"{wall * 1e6:.0f}", "0"),
            ("the driver's processor", f"{processor * 1e6:.0f}", "0"),
        ],
    )
    show(
        f"tasks of {options.seconds * 1e3:.0f} ms of sleep, {options.each} per lane",
        ("lanes", "tasks/s", "times one lane", "ideal tasks/s", "ideal"),
        [
            (str(n), f"{rate:.1f}", f"{rate / rates[1]:.2f}", f"{n / options.seconds:.1f}", str(n))
            for n, rate in rates.items()
        ],
    )
    holds = verdict(processor <= 3e-3, "an empty task costs the driver at most 3 ms")
    holds &= verdict(rates[8] >= 4 * rates[1], "8 lanes are at least 4 times as fast as one")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
