"""Timing a program by the GPU's clock, with cold caches and never waiting for the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph_net.programs.spaces.space import SpaceError, repeats_of

if TYPE_CHECKING:
    import torch

FLUSH = 512 << 20
"""Bytes written before each run: over the L2 cache, and long enough to hide the launch behind."""
HEAD_START = 16
"""Flushes before the first run, about 2 ms of an H200: it is awake and the host far ahead."""
ATTEMPTS = 3
CLOCK = 9
"""Digits of a second that the GPU's clock has; what CUDA says beyond them is float32's."""
REPEATS, FEWEST = 8, 3
SPENT = 0.15
"""Seconds of GPU time for the repeats of one program."""
HOPELESS, SHORT = 50.0, 0.1
"""So many times slower than the best, and longer than this: not worth repeats."""


class TooSlow(SpaceError):
    """A program that is not worth its repeats."""


@dataclass(frozen=True)
class Timed:
    """Seconds of each run; ``overtaken`` where the GPU waited for the host in the last attempt."""

    costs: list[float]
    overtaken: bool = False


def flush_buffer() -> torch.Tensor:
    """Return what is written to empty the caches."""
    import torch

    return torch.empty(FLUSH // 4, dtype=torch.int32, device="cuda")


def timed(run: Callable[[], object], repeats: int, flush: torch.Tensor) -> Timed:
    """Return the seconds of each run by the GPU's clock, with cold caches; queue all, then wait.

    A run that the GPU had to wait for would count the waiting: a host that was overtaken while it
    queued, because others use its cores, queues all of them again; after the last attempt the
    result says so.
    """
    for _ in range(ATTEMPTS):
        taken = _queued(run, repeats, flush)
        if not taken.overtaken:
            break
    return taken


def _queued(run: Callable[[], object], repeats: int, flush: torch.Tensor) -> Timed:
    import torch

    def mark() -> torch.cuda.Event:
        return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    marks = [(mark(), mark()) for _ in range(repeats)]
    overtaken = False
    for _ in range(HEAD_START):
        flush.zero_()
    for begin, end in marks:
        flush.zero_()
        begin.record()
        run()
        end.record()
        # only now all of the run is queued: had the GPU reached it before, it may have waited
        overtaken |= begin.query()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    costs = [round(begin.elapsed_time(end) / 1000, CLOCK) for begin, end in marks]
    return Timed(costs, overtaken)


def costs_of(
    run: Callable[[], object], flops: float, best: float | None, flush: torch.Tensor
) -> Timed:
    """Return every repeat of a program; raises TooSlow where a first run shows no hope."""
    once = timed(run, 1, flush)
    (first,) = once.costs
    if best is not None and not once.overtaken and first > max(SHORT, HOPELESS * best):
        raise TooSlow(f"{first:.6f} s, the best program {best:.6f} s")
    wanted = max(REPEATS, repeats_of(flops))
    return timed(run, max(FEWEST, min(wanted, int(SPENT / first))), flush)
