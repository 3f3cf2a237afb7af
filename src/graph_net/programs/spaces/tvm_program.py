"""TvmProgram: a function that TVM compiled for this CPU, with its arguments, to be timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from graph_net.measure.contention import time_alone
from graph_net.programs.spaces.space import Built, SpaceError
from graph_net.programs.spaces.tvm_gauge import trial_gauge

FLUSH = "cache_flush_cpu_non_first_arg"
"""The flush that TenSet and TVM's runners use: evicts every argument but the first."""
_BIG_CORES = 1
"""TVM's number for its default choice of cores."""
SLOW, SLOW_REPEATS = 0.01, 3
"""Runs of at least this many seconds are repeated fewer times."""
GAUGED, GAUGED_REPEATS = 0.05, 5
"""Longest run in seconds for which the gauge is used, and the number of runs then."""


class TvmProgram(Built):
    """A compiled TVM function with its arguments."""

    def __init__(self, library: Any, arguments: Sequence[Any]) -> None:
        import tvm

        device = tvm.cpu()
        self._arguments = [_argument(entry, device) for entry in arguments]
        self._library, self._device = library, device
        library.get_function("main")  # LLVM compiles lazily: trigger it now, not in a timed run

    def start_threads(self) -> None:
        """Start TVM's thread pool of the size set by ``build``; else the first run would."""
        import tvm

        tvm.get_global_func("runtime.config_threadpool")(_BIG_CORES, 0)

    def times(self, repeats: int) -> list[float]:
        """Time by TVM's clock: one uncounted call, then each run from flushed caches.

        A slow program is run ``SLOW_REPEATS`` times: most draws are slow, and none of those is the
        best. If the gauge is calibrated, runs count while it finds the cores free.
        """
        costs = self._evaluate(1)
        wanted = min(repeats, SLOW_REPEATS) if costs[0] > SLOW else repeats
        gauge = trial_gauge() if costs[0] < GAUGED else None
        if gauge is None:
            return costs + self._evaluate(wanted - 1) if wanted > 1 else costs
        runs = time_alone(
            lambda: self._evaluate(1)[0], gauge, min(wanted, GAUGED_REPEATS), time.perf_counter
        )
        self.remarks = {"shared": True} if runs.shared else {}
        return runs.costs

    def _evaluate(self, repeats: int) -> list[float]:
        evaluate = self._library.time_evaluator(
            "main",
            self._device,
            number=1,
            repeat=repeats,
            min_repeat_ms=0,
            f_preproc=FLUSH,
        )
        return [float(seconds) for seconds in evaluate(*self._arguments).results]


def _argument(entry: Any, device: Any) -> Any:
    """Return values for a tensor: a short random piece, repeated; indices are 0, always valid."""
    import numpy as np
    import tvm

    _, dtype, shape = entry
    shape = tuple(int(size) for size in shape)
    kind = str(dtype)
    if kind == "bfloat16":
        raise SpaceError("numpy has no bfloat16 to make arguments of")
    if kind.startswith("float"):
        piece = np.random.default_rng(0).standard_normal(4096).astype(kind)
        values = np.resize(piece, shape)
    else:
        values = np.zeros(shape, kind)
    return tvm.runtime.tensor(values, device)
