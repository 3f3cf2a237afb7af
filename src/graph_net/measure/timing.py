"""Interleaved timing: eager, eager again and the candidate in random mirrored rounds."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from typing import Protocol as Interface

import torch

from graph_net.measure.protocol import Protocol
from graph_net.measure.stats import block_logs, half_width, interval, judge
from graph_net.record import Interval, Samples, Timing

ROUNDS = 2
"""A round is a random order of the arms and then the same order backwards; a block is so many."""
PER_BLOCK = 2 * ROUNDS
CHECK_EVERY = 2
ARMS = ("eager", "control", "candidate")
Call = Callable[[], Any]


class Clock(Interface):
    """Times some calls on a device."""

    def take(self, call: Call, inner: int) -> tuple[float, float | None, Any]:
        """Wall and device seconds a call, and what the last call gave."""
        ...


class CpuClock:
    """Wall clock around calls that compute before they return."""

    def take(self, call: Call, inner: int) -> tuple[float, float | None, Any]:
        """Wall seconds a call; a CPU has no clock of its own."""
        result: Any = None
        start = time.perf_counter()
        for _ in range(inner):
            result = call()
        return (time.perf_counter() - start) / inner, None, result


class CudaClock:
    """Wall clock and device events, the second-level cache flushed before every sample."""

    def __init__(self) -> None:
        size = 2 * torch.cuda.get_device_properties(0).L2_cache_size
        self._flush = torch.empty(max(size, 1 << 26), dtype=torch.int8, device="cuda")

    def take(self, call: Call, inner: int) -> tuple[float, float | None, Any]:
        """Wall seconds until the device is done, and the seconds between its events."""
        result: Any = None
        begin = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._flush.zero_()
        torch.cuda.synchronize()
        start = time.perf_counter()
        begin.record()
        for _ in range(inner):
            result = call()
        end.record()
        torch.cuda.synchronize()
        wall = (time.perf_counter() - start) / inner
        return wall, begin.elapsed_time(end) / 1e3 / inner, result


@dataclass
class _Arm:
    call: Call
    inner: int = 1
    wall: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)
    last: Any = None

    def take(self, clock: Clock, keep: bool) -> float:
        wall, device, self.last = clock.take(self.call, self.inner)
        if keep:
            self.wall.append(wall)
            if device is not None:
                self.device.append(max(device, 1e-9))
        return wall

    def samples(self) -> Samples:
        return Samples(tuple(self.wall), self.inner, tuple(self.device))


def compare(
    eager: Call,
    candidate: Call,
    protocol: Protocol,
    clock: Clock,
    between: Call = lambda: None,
) -> tuple[Timing, Any]:
    """The timing of a candidate against eager, and what the last timed call of it gave.

    ``between`` runs before every sample, untimed.
    """
    arms = {"eager": _Arm(eager), "control": _Arm(eager), "candidate": _Arm(candidate)}
    order = random.Random(protocol.seed)  # noqa: S311 - an order, not a secret
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        _warm_up(arms, protocol, clock, between)
        _sample(arms, protocol, clock, between, order)
    finally:
        if collecting:
            gc.enable()
    return timing_of(arms["eager"].samples(), arms["control"].samples(),
                     arms["candidate"].samples(), protocol), arms["candidate"].last  # fmt: skip


def _warm_up(arms: dict[str, _Arm], protocol: Protocol, clock: Clock, between: Call) -> None:
    """Call each arm until it stops getting faster, and find how many calls fill a sample."""
    for name in ("eager", "candidate"):
        arm, began, best = arms[name], time.monotonic(), math.inf
        while True:
            between()
            seconds = arm.take(clock, keep=False)
            arm.inner = max(1, math.ceil(protocol.sample_seconds / seconds))
            settled = seconds > 0.98 * best
            best = min(best, seconds)
            if settled or time.monotonic() - began > protocol.warm_seconds:
                break
        arm.inner = max(1, math.ceil(protocol.sample_seconds / best))
    arms["control"].inner = arms["eager"].inner


def _sample(
    arms: dict[str, _Arm],
    protocol: Protocol,
    clock: Clock,
    between: Call,
    order: random.Random,
) -> None:
    began = time.monotonic()
    for block in range(1, protocol.max_blocks + 1):
        for _ in range(ROUNDS):
            names = order.sample(ARMS, len(ARMS))
            for name in (*names, *reversed(names)):
                between()
                arms[name].take(clock, keep=True)
        if block < protocol.min_blocks:
            continue
        if time.monotonic() - began > protocol.seconds:
            return
        if block % CHECK_EVERY == 0 and _narrow(arms, protocol):
            return


def _narrow(arms: dict[str, _Arm], protocol: Protocol) -> bool:
    eager = arms["eager"].wall
    return all(
        half_width(_ratio(eager, arms[name].wall, protocol)) <= protocol.width
        for name in ("control", "candidate")
    )


def _ratio(
    first: list[float] | tuple[float, ...],
    second: list[float] | tuple[float, ...],
    protocol: Protocol,
) -> Interval:
    return interval(block_logs(first, second, PER_BLOCK), protocol.confidence, protocol.seed)


def timing_of(eager: Samples, control: Samples, candidate: Samples, protocol: Protocol) -> Timing:
    """The intervals and the verdict of samples, as they were taken or as they were stored.

    The speedup compares the candidate with both eager arms: they are the same function.
    """
    logs = [block_logs(arm.wall, candidate.wall, PER_BLOCK) for arm in (eager, control)]
    speedup = interval((logs[0] + logs[1]) / 2, protocol.confidence, protocol.seed)
    noise = _ratio(eager.wall, control.wall, protocol)
    judged = judge(speedup, noise, protocol.margin)
    on_device = None
    if eager.device and candidate.device:
        on_device = _ratio(eager.device, candidate.device, protocol)
    return Timing(
        eager, control, candidate, speedup, noise, judged.verdict, judged.reason, on_device
    )
