"""The gauge for TVM's programs: arithmetic on every core, in TVM's own threads.

It is built, and its least time measured, once, in the process that forks the trials.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from graph_net.compilers.silence import silent
from graph_net.compilers.tvm import tvm_target
from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.isolate import Limits, call
from graph_net.isolate.fresh_thread import run_in_fresh_thread
from graph_net.measure.contention import Gauge
from graph_net.measure.placement import Placement

if TYPE_CHECKING:
    from collections.abc import Callable

LANES, STEPS = 96, 20_000
"""Floats, few enough for registers, and multiply-adds on each: 0.4 ms."""
LEARNING = 2.0
"""Seconds of calibration; enough to see the least time even if the cores are mostly busy."""
_SOURCE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(values: T.Buffer(({cores}, {lanes}), "float32")):
        for core in T.parallel({cores}):
            for _ in range({steps}):
                for lane in T.vectorized({lanes}):
                    values[core, lane] = values[core, lane] * T.float32(0.999) + T.float32(0.001)
"""
_known: list[tuple[int, float]] = []
"""The number of cores and the least time, once calibrated; trials inherit them."""


def calibrate() -> None:
    """Measure the least time of the gauge on this machine, once per process."""
    cores = len(os.sched_getaffinity(0))
    if cores > 1 and not _known:
        _gauge_function(cores)
        limits = Limits(60 + int(LEARNING), None)
        least = call(lambda: run_in_fresh_thread(lambda: _learn(cores)), limits)
        _known.append((cores, float(least)))


def forget() -> None:
    """Stop using the gauge in this process."""
    _known.clear()


def trial_gauge() -> Gauge | None:
    """Return the gauge of a trial whose threads have been started; None before ``calibrate``."""
    return next((Gauge(_runner(cores), least) for cores, least in _known), None)


def _learn(cores: int) -> float:
    os.environ["TVM_NUM_THREADS"] = str(cores)
    with Placement(cores) as placement:
        gauge = Gauge(_runner(cores))
        gauge.is_alone()  # starts the threads
        placement.apply()
        until = time.monotonic() + LEARNING
        while time.monotonic() < until:
            gauge.is_alone()
    return gauge.least


def _runner(cores: int) -> Callable[[], float]:
    import numpy as np
    import tvm

    function = _gauge_function(cores)
    values = tvm.runtime.tensor(np.ones((cores, LANES), "float32"), tvm.cpu())

    def run() -> float:
        begin = time.perf_counter()
        function(values)
        return time.perf_counter() - begin

    return run


@cache
def _gauge_function(cores: int) -> Any:
    import tvm
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build

    load_intrinsics()
    with silent():
        module = tvm.script.from_source(_SOURCE.format(cores=cores, lanes=LANES, steps=STEPS))
        return default_build(module, tvm_target(cores), None).get_function("main")
