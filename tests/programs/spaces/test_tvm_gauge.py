"""TVM's programs are timed by a gauge once it is calibrated."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("tvm", reason="needs apache-tvm")
several = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="one core is never shared by threads of ours"
)
COLLECTION = """
import json, os
from graph_net.isolate import Limits, call
from graph_net.measure.placement import Placement
from graph_net.programs.spaces import tvm_gauge

def trial():
    with Placement(len(os.sched_getaffinity(0))):
        gauge = tvm_gauge.trial_gauge()
        return [gauge.least, min(gauge.run() for _ in range(20))]

before = tvm_gauge.trial_gauge()
tvm_gauge.LEARNING = 0.2
tvm_gauge.calibrate()
seen = call(trial, Limits(120, None))
tvm_gauge.forget()
print(json.dumps([before is None, seen, tvm_gauge.trial_gauge() is None]))
"""
"""In a process whose TVM has started no threads: they would be missing in one forked from it."""


@several
def test_a_trial_has_the_gauge_that_its_parent_calibrated() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECTION], capture_output=True, text=True, check=True
    )
    before, (least, took), after = json.loads(done.stdout.splitlines()[-1])
    assert before
    assert after
    assert 0 < least < 1
    assert took > least / 2
