"""TVM's programs are timed by a gauge once it is calibrated."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from graph_net.isolate import Limits, call
from graph_net.measure.placement import Placement
from graph_net.programs.spaces import tvm_gauge

pytest.importorskip("tvm", reason="needs apache-tvm")
CORES = len(os.sched_getaffinity(0))
several = pytest.mark.skipif(CORES < 2, reason="one core is never shared by threads of ours")


@pytest.fixture(autouse=True)
def uncalibrated() -> Iterator[None]:
    yield
    tvm_gauge.forget()


def gauged() -> list[float]:
    """Return the least time that a trial knows, and what it sees, its threads placed."""
    with Placement(CORES):
        gauge = tvm_gauge.trial_gauge()
        assert gauge is not None
        return [gauge.least, min(gauge.run() for _ in range(20))]


@several
def test_a_trial_has_the_gauge_that_its_parent_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tvm_gauge.trial_gauge() is None
    monkeypatch.setattr(tvm_gauge, "LEARNING", 0.2)
    tvm_gauge.calibrate()
    least, took = call(gauged, Limits(120, None))
    assert 0 < least < 1
    assert took > least / 2
