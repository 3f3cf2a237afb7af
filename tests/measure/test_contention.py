"""Runs count while a gauge finds the cores free."""

from __future__ import annotations

from collections.abc import Iterator

from graph_net.measure.contention import Gauge, GaugedRuns, time_alone

FREE, SHARED = 1.0, 1.6


class Machine:
    """Cores that are shared by a script: one state per step; gauges and runs are steps."""

    def __init__(self, states: str) -> None:
        self.states: Iterator[bool] = iter([state == "s" for state in states])
        self.now = 0.0

    def step(self, seconds: float) -> float:
        took = seconds * (SHARED if next(self.states) else FREE)
        self.now += took
        return took

    def timed(self, repeats: int, patience: float) -> GaugedRuns:
        gauge = Gauge(lambda: self.step(1.0), least=1.0)
        return time_alone(lambda: self.step(10.0), gauge, repeats, lambda: self.now, patience)


def test_runs_on_free_cores_are_all_taken() -> None:
    assert Machine("f" * 9).timed(3, 100.0) == GaugedRuns([10.0] * 3)


def test_nothing_runs_while_the_cores_are_shared() -> None:
    assert Machine("ssssfff").timed(1, 100.0) == GaugedRuns([10.0])


def test_a_run_that_ends_on_shared_cores_does_not_count() -> None:
    assert Machine("fss" + "fff").timed(1, 100.0) == GaugedRuns([10.0])


def test_after_some_time_a_few_runs_are_enough() -> None:
    runs = Machine("fff" * 3 + "s" * 50).timed(8, 40.0)
    assert runs == GaugedRuns([10.0] * 3)


def test_where_the_cores_are_always_shared_the_runs_say_so() -> None:
    runs = Machine("s" * 99).timed(3, 20.0)
    assert runs == GaugedRuns([16.0] * 3, shared=True)


def test_a_gauge_learns_its_least_time() -> None:
    machine = Machine("sfsf")
    gauge = Gauge(lambda: machine.step(1.0))
    assert gauge.is_alone()  # it knows no better
    assert gauge.is_alone()
    assert not gauge.is_alone()
    assert gauge.least == FREE
