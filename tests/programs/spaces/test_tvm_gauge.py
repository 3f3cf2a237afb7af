"""TVM's programs are timed by a gauge once it is calibrated."""

from __future__ import annotations

import os

import pytest

from graph_net.isolate import Limits, call

pytest.importorskip("tvm", reason="needs apache-tvm")
if len(os.sched_getaffinity(0)) < 2:
    pytest.skip("one core is never shared between threads of ours", allow_module_level=True)


def calibrated() -> list[object]:
    """Calibrate, place a trial's threads as a collection does, and gauge."""
    from graph_net.measure.placement import Placement
    from graph_net.programs.spaces import tvm_gauge

    before = tvm_gauge.trial_gauge()
    tvm_gauge.LEARNING = 0.2
    tvm_gauge.calibrate()
    with Placement(len(os.sched_getaffinity(0))):
        gauge = tvm_gauge.trial_gauge()
        assert gauge is not None
        least = gauge.least
        took = [gauge.run() for _ in range(20)]
    tvm_gauge.forget()
    return [before, least, min(took), tvm_gauge.trial_gauge()]


def test_a_trial_has_the_gauge_that_its_parent_calibrated() -> None:
    before, least, took, after = call(calibrated, Limits(120, None))
    assert before is None
    assert after is None
    assert 0 < least < 0.1
    assert 0.5 * least < took
