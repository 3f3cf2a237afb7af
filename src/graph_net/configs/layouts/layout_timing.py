"""Time many functions side by side: rounds of all of them in random order.

A round calls every arm once, so that a disturbance of the machine affects all alike. Arms are
compared by their ratio within a round.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from graph_net.measure.device import Disturbances
from graph_net.measure.undisturbed import MOST_TRIES, disturbance
from graph_net.results import Json

DIGITS = 9
"""Digits of a second: nanoseconds."""
SAMPLE_SECONDS = 5e-4
"""Least seconds of a sample; shorter functions are called several times per sample."""
MOST_INNER = 32
FLUSH = 256 << 20
"""Bytes written before each run on a GPU: more than its cache, and long enough to hide a launch."""
HEAD_START = 16
Call = Callable[[], Any]


@dataclass(frozen=True)
class RoundTimes:
    """The seconds of each arm in each round, and what is unusual about them."""

    seconds: tuple[tuple[float, ...], ...]
    remarks: Mapping[str, Json]


class RoundClock(Protocol):
    """Times rounds on one kind of device."""

    def ready(self, call: Call) -> Call:
        """Return the timed form of a function that has been called once inside ``beside``."""
        ...

    def beside(self) -> AbstractContextManager[Any]:
        """Return the context in which a function is called before it is timed."""
        ...

    def rounds(self, arms: Sequence[Call], repeats: int, order: random.Random) -> RoundTimes:
        """Return the seconds of each arm in each round."""
        ...


class CpuRounds:
    """Wall time of calls; disturbed rounds are repeated."""

    def __init__(self, place: Callable[[], None] = lambda: None) -> None:
        self.place = place

    def ready(self, call: Call) -> Call:
        """Return the function itself."""
        return call

    def beside(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()

    def rounds(self, arms: Sequence[Call], repeats: int, order: random.Random) -> RoundTimes:
        """Return the least disturbed of a few tries."""
        inner = [_inner(call) for call in arms]
        best, least, tries = RoundTimes((), {}), math.inf, 0
        while tries < MOST_TRIES and least > 1:
            tries += 1
            began, counters = time.monotonic(), Disturbances()
            seconds = self._once(arms, inner, repeats, order)
            excess = disturbance(counters.read(), time.monotonic() - began)
            if excess < least:
                best, least = RoundTimes(seconds, {}), excess
        remarks: dict[str, Json] = {"tries": tries} if tries > 1 else {}
        return RoundTimes(best.seconds, remarks | ({"disturbed": True} if least > 1 else {}))

    def _once(
        self, arms: Sequence[Call], inner: Sequence[int], repeats: int, order: random.Random
    ) -> tuple[tuple[float, ...], ...]:
        taken: list[list[float]] = [[] for _ in arms]
        gc.collect()
        gc.disable()
        try:
            for _ in range(repeats):
                self.place()
                for arm in order.sample(range(len(arms)), len(arms)):
                    taken[arm].append(_seconds(arms[arm], inner[arm]))
        finally:
            gc.enable()
        return tuple(map(tuple, taken))


def _seconds(call: Call, inner: int) -> float:
    begin = time.perf_counter()
    for _ in range(inner):
        call()
    return round((time.perf_counter() - begin) / inner, DIGITS)


def _inner(call: Call) -> int:
    """Return the number of calls per sample, after warming up."""
    quickest = min(_seconds(call, 1) for _ in range(3))
    return max(1, min(MOST_INNER, math.ceil(SAMPLE_SECONDS / max(quickest, 1e-9))))


class CudaRounds:
    """Time by the GPU's clock: each function is recorded once, and replayed from cold caches.

    A recorded function (CUDA graph) runs the same kernels without the host, whose launches take
    longer than most kernels of small graphs. All rounds are queued at once, behind writes that fill
    the cache: the GPU does not wait for the host, or the result says so.
    """

    def __init__(self) -> None:
        import torch

        self.flush = torch.empty(FLUSH // 4, dtype=torch.int32, device="cuda")
        self.stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()

    def ready(self, call: Call) -> Call:
        """Return a replay of the function's kernels."""
        import torch

        graph = torch.cuda.CUDAGraph()
        gc.collect()  # freeing one recording while another is made would corrupt it
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            # One pool per turn: replays run one after another, and their results are not read.
            graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
            try:
                call()
                graph.capture_end()
            except BaseException:
                self.pool = torch.cuda.graph_pool_handle()  # torch still records to the old one
                with suppress(RuntimeError):
                    graph.capture_end()
                raise

        def replay(keep: Call = call) -> None:  # keeps the inputs of the replay alive
            graph.replay()

        return replay

    def beside(self) -> AbstractContextManager[Any]:
        """Return the stream that functions are recorded on, where first calls allocate memory."""
        import torch

        torch.cuda.synchronize()
        return torch.cuda.stream(self.stream)

    def rounds(self, arms: Sequence[Call], repeats: int, order: random.Random) -> RoundTimes:
        """Return the seconds of each replay in each round; queue again if the GPU waited."""
        import torch

        for arm in arms:
            arm()
        tries, overtaken = 0, 1
        while tries < MOST_TRIES and overtaken:
            tries += 1
            seconds, overtaken = self._queued(arms, repeats, order)
        self.pool = torch.cuda.graph_pool_handle()  # the old one is freed with its last recording
        remarks: dict[str, Json] = {"tries": tries} if tries > 1 else {}
        return RoundTimes(seconds, remarks | ({"overtaken": overtaken} if overtaken else {}))

    def _queued(
        self, arms: Sequence[Call], repeats: int, order: random.Random
    ) -> tuple[tuple[tuple[float, ...], ...], int]:
        import torch

        marks: list[list[Any]] = [[] for _ in arms]
        overtaken = 0
        for _ in range(HEAD_START):
            self.flush.zero_()
        for _ in range(repeats):
            for arm in order.sample(range(len(arms)), len(arms)):
                pair: list[Any] = [
                    torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
                    for _ in "ab"
                ]
                self.flush.zero_()
                pair[0].record()
                arms[arm]()
                pair[1].record()
                overtaken += pair[0].query()
                marks[arm].append(pair)
        torch.cuda.synchronize()
        return tuple(
            tuple(round(begin.elapsed_time(end) / 1e3, DIGITS) for begin, end in pairs)
            for pairs in marks
        ), overtaken
