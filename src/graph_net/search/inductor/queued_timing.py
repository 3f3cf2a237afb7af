"""QueuedClock: GPU time of a call, with all repeats queued before the GPU reaches them.

Inductor times a choice by launching it repeatedly, so host time shows if a launch takes longer than
its kernels. Here the GPU is kept busy until all repeats are queued.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from graph_net.search.inductor.hooks import Timing, timing_by

log = logging.getLogger(__name__)

FLUSH = 256 << 20
"""Bytes written before each repeat: more than the GPU's cache, and long enough to hide a launch."""
HEAD_START = 16
"""Such writes before the first repeat; doubled in each further try."""
TRIES = 4
REPEATS, FEWEST = 30, 5
MILLISECONDS = 25.0
"""Time of all repeats together, unless the least number of repeats takes longer."""
KNOWN = frozenset({"warmup", "rep", "device_type", "is_vetted_benchmarking"})
"""Options of Inductor's clock that ask for a single time."""
Call = Callable[[], Any]


class HostTime(float):
    """Milliseconds by Inductor's own clock, possibly host time, because queueing failed."""


@dataclass
class ClockReport:
    """How calls were timed."""

    queued: int = 0
    recorded: int = 0
    """Calls with slow launches, replayed as a CUDA graph."""
    by_host: list[str] = field(default_factory=list)
    """Calls timed by Inductor's own clock, with the reasons."""


@dataclass
class QueuedClock:
    """Times calls like Inductor's ``benchmark_gpu``, which it falls back to on failure."""

    own: Timing
    report: ClockReport = field(default_factory=ClockReport)
    records: bool = False
    """Whether slow launches are recorded. A failed recording may corrupt the random state of the
    process, so none is made in a user's process.
    """
    active: bool = True
    """False after the block has ended: later callers get Inductor's own clock."""

    def __call__(self, run: Call, *given: Any, **options: Any) -> Any:
        """Return the milliseconds of a call; a HostTime if queueing failed."""
        if given or not self.active or not _is_plain(options):
            return self.own(run, *given, **options)
        why = "the GPU always waited for the host"
        try:
            with _benchmark_lock():
                if (found := self.milliseconds(run)) is not None:
                    return found
        except Exception as error:
            why = f"{type(error).__name__}: {error}"[:300]
        taken = self.own(run, **options)  # it knows the errors that skip a choice
        if not math.isfinite(taken):
            return taken
        self.report.by_host.append(why)
        log.warning("graph_net left a choice to Inductor's own clock: %s", why)
        return HostTime(taken)

    def milliseconds(self, run: Call) -> float | None:
        """Return the median of repeats that did not wait for the host; None if most did."""
        import torch

        torch.cuda.synchronize()  # surface errors of earlier work first
        run()
        torch.cuda.synchronize()
        found = _tries(run)
        if found is not None:
            self.report.queued += 1
            return found
        replay = _recorded(run) if self.records else None
        found = None if replay is None else _tries(replay)
        if found is not None:
            self.report.recorded += 1
        return found


@contextmanager
def queued_timing(
    report: ClockReport | None = None, records: bool = False
) -> Iterator[QueuedClock | None]:
    """Make Inductor time choices with a QueuedClock; does nothing without a GPU."""
    import torch

    if not torch.cuda.is_available():
        yield None
        return
    noted = ClockReport() if report is None else report
    with timing_by(lambda own: QueuedClock(own, noted, records)) as clock:
        try:
            yield clock
        finally:
            clock.active = False


def keep_queued_timing(report: ClockReport) -> None:
    """Do the same for the rest of this process; repeated calls have no effect."""
    import torch
    from torch._inductor.runtime.benchmarking import benchmarker

    changed: Any = benchmarker
    if torch.cuda.is_available() and not isinstance(changed.benchmark_gpu, QueuedClock):
        changed.benchmark_gpu = QueuedClock(changed.benchmark_gpu, report)


def _tries(run: Call) -> float | None:
    """Try with more head start and fewer repeats until most repeats do not wait."""
    import torch

    flush = torch.empty(FLUSH // 4, dtype=torch.int32, device="cuda")
    repeats = _repeats(run)
    for attempt in range(TRIES):
        count = max(FEWEST, repeats >> attempt)
        clean = _queued(run, flush, count, HEAD_START << attempt)
        if 2 * len(clean) >= count and (found := median(clean)) > 0:
            return found
    return None


def _queued(run: Call, flush: Any, repeats: int, head_start: int) -> list[float]:
    """Return the milliseconds of each repeat that was queued before the GPU reached it."""
    import torch

    marks = []
    for _ in range(head_start):
        flush.zero_()
    for _ in range(repeats):
        begin, end = _events()
        flush.zero_()
        begin.record()
        run()
        end.record()
        overtaken = begin.query()
        marks.append((begin, end, overtaken))
    torch.cuda.synchronize()
    return [float(begin.elapsed_time(end)) for begin, end, overtaken in marks if not overtaken]


def _repeats(run: Call) -> int:
    """Return how many repeats fit into the time, from one call that may include host time."""
    import torch

    begin, end = _events()
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    spent = max(float(begin.elapsed_time(end)), 1e-3)
    return max(FEWEST, min(REPEATS, int(MILLISECONDS / spent)))


def _events() -> tuple[Any, Any]:
    import torch

    make: Any = torch.cuda.Event
    return make(enable_timing=True), make(enable_timing=True)


def _recorded(run: Call) -> Call | None:
    """Return a replay of a call's kernels; None if it waits for the GPU or records nothing.

    Triton launches name their stream, so a recording on another stream does not capture them.
    """
    import torch

    modes: Any = torch.cuda
    before = modes.get_sync_debug_mode()
    modes.set_sync_debug_mode("error")
    try:
        run()
    except RuntimeError:
        return None
    finally:
        modes.set_sync_debug_mode(before)
    graph = torch.cuda.CUDAGraph()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            run()
    torch.cuda.synchronize()
    empty = any("Graph is empty" in str(one.message) for one in said)
    return None if empty else graph.replay


def _is_plain(options: Mapping[str, Any]) -> bool:
    """Return whether one time on a CUDA device is requested and all choices run here."""
    import torch
    from torch._inductor import config

    device = torch.device(options.get("device_type") or "cuda").type
    banned = getattr(config, "deterministic", False)
    return options.keys() <= KNOWN and device == "cuda" and not timed_elsewhere() and not banned


def timed_elsewhere() -> bool:
    """Return whether Inductor times some choices in another process.

    They get its own clock there, so all choices do.
    """
    from torch._inductor import config

    return bool(
        config.autotune_in_subproc
        or getattr(config, "pipeline_max_autotune_gemm", False)
        or "CUTLASS" in config.max_autotune_gemm_backends.upper()
    )


def _benchmark_lock() -> Any:
    """Return the lock that a harness may have set for Inductor's benchmarks (torch 2.13)."""
    from torch._inductor.runtime import benchmarking

    return getattr(benchmarking, "maybe_gpu_benchmark_lock", nullcontext)()
