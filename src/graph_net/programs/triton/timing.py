"""Time a program by the GPU's clock, with cold caches and without waiting for the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph_net.programs.spaces.space import SpaceError, repeats_of

if TYPE_CHECKING:
    import torch

FLUSH = 512 << 20
"""Bytes written before each run: more than the L2 cache, and long enough to hide the launch."""
HEAD_START = 16
"""Flushes before the first run, about 2 ms on an H200: wakes it and lets the host run ahead."""
ATTEMPTS = 3
CLOCK = 9
"""Decimal digits of seconds that the GPU's clock has; further digits are float32 noise."""
REPEATS, FEWEST = 8, 3
SPENT = 0.15
"""Seconds of GPU time for the repeats of one program."""
HOPELESS, SHORT = 50.0, 0.1
"""A program this many times slower than the best, and longer than SHORT seconds, is dropped."""


class TooSlow(SpaceError):
    """A program too slow to be worth repeating."""


@dataclass(frozen=True)
class Timed:
    """Seconds of each run; ``overtaken`` if the GPU waited for the host in the last attempt."""

    costs: list[float]
    overtaken: bool = False


def flush_buffer() -> torch.Tensor:
    """Return the buffer that is written to flush the caches."""
    import torch

    return torch.empty(FLUSH // 4, dtype=torch.int32, device="cuda")


def timed(run: Callable[[], object], repeats: int, flush: torch.Tensor) -> Timed:
    """Return the seconds of each run by the GPU's clock, with cold caches; queue all, then wait.

    A run that the GPU waited for would include the waiting. If the GPU overtakes the host while
    runs are queued, because others use its cores, all are queued again; after the last attempt the
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
        # The run is fully queued only now: if the GPU has reached it already, it may have waited.
        overtaken |= begin.query()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    costs = [round(begin.elapsed_time(end) / 1000, CLOCK) for begin, end in marks]
    return Timed(costs, overtaken)


def costs_of(
    run: Callable[[], object], flops: float, best: float | None, flush: torch.Tensor
) -> Timed:
    """Return every repeat of a program; raise TooSlow if the first run is hopelessly slow."""
    once = timed(run, 1, flush)
    (first,) = once.costs
    if best is not None and not once.overtaken and first > max(SHORT, HOPELESS * best):
        raise TooSlow(f"{first:.6f} s, the best program {best:.6f} s")
    wanted = max(REPEATS, repeats_of(flops))
    return timed(run, max(FEWEST, min(wanted, int(SPENT / first))), flush)
