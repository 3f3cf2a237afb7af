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
USED_BEFORE = """
import json, os
from graph_net.isolate import INHERITED, Limits, call
from graph_net.isolate.fresh_thread import run_in_fresh_thread
from graph_net.programs.spaces import tvm_gauge

os.environ["TVM_NUM_THREADS"] = "2"
run = tvm_gauge._runner(2)
in_parent = run()
limits = Limits(60, None)
in_child = call(lambda: run_in_fresh_thread(run), limits)
in_grandchild = call(lambda: run_in_fresh_thread(lambda: call(run, limits, INHERITED)), limits)
print(json.dumps([in_parent, in_child, in_grandchild]))
"""
"""TVM's threads of the first process are missing in one forked from it."""


@several
def test_a_trial_has_the_gauge_that_its_parent_calibrated() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECTION], capture_output=True, text=True, check=True
    )
    before, (least, took), after = json.loads(done.stdout.splitlines()[-1])
    assert before
    assert after
    assert 0 < least < 1
    assert took > least / 100  # it runs; a busy machine may have calibrated slowly


@several
def test_a_process_forked_from_one_that_used_tvm_has_threads_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", USED_BEFORE], capture_output=True, text=True, check=True
    )
    assert all(seconds > 0 for seconds in json.loads(done.stdout.splitlines()[-1]))
