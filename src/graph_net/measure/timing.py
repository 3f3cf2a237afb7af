"""Interleaved timing: eager, eager again and the candidate in random mirrored rounds."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import Protocol as Interface

import torch

from graph_net.measure.protocol import Protocol
from graph_net.measure.stats import TimingVerdict, block_logs, half_width, judge, median_interval
from graph_net.results import Interval, Samples, Timing, Verdict

ROUNDS = 2
"""Rounds of a block; a round is a random order of the arms, then the same order backwards."""
PER_ROUND = 2
SLOW = 0.02
"""Seconds of a sample above which one round is a block."""
SETTLED = 2
"""Calls in a row without a new best that end the warm-up."""
ARMS = ("eager", "control", "candidate")
Call = Callable[[], Any]


class Clock(Interface):
    """A way to time calls on a device."""

    def take(self, call: Call, inner: int) -> tuple[float, float | None, Any]:
        """Return wall and device seconds per call, and the result of the last call."""
        ...


class CpuClock:
    """Wall clock around calls that compute before they return."""

    def take(self, call: Call, inner: int) -> tuple[float, float | None, Any]:
        """Return wall seconds per call; a CPU has no clock of its own."""
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
        """Return wall seconds until the device is done, and the seconds between its events."""
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


class Inputs(Interface):
    """The source of the calls' inputs; its methods are not timed."""

    def prepare(self, calls: int) -> None:
        """Prepare for samples of this many calls."""
        ...

    def renew(self, calls: int) -> None:
        """Give the next calls inputs of other values."""
        ...

    def observe(self, result: Any, calls: int) -> None:
        """Take the result of the last of the candidate's timed calls."""
        ...


class SameInputs:
    """Inputs that do not change."""

    def prepare(self, calls: int) -> None:
        """Do nothing."""

    def renew(self, calls: int) -> None:
        """Do nothing."""

    def observe(self, result: Any, calls: int) -> None:
        """Do nothing."""


@dataclass
class _Arm:
    call: Call
    inner: int = 1
    best: float = math.inf
    wall: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)
    last: Any = None

    def take(self, clock: Clock, keep: bool) -> float:
        wall, device, self.last = clock.take(self.call, self.inner)
        self.best = min(self.best, wall)
        if keep:
            self.wall.append(wall)
            if device is not None:
                self.device.append(max(device, 1e-9))
        return wall

    def samples(self) -> Samples:
        return Samples(tuple(self.wall), self.inner, tuple(self.device))


class CompiledAgain(RuntimeError):
    """A compilation inside the timed region."""


def time_arms(
    eager: Call,
    candidate: Call,
    protocol: Protocol,
    clock: Clock,
    between: Call | None = None,
    compilations: Callable[[], int] = lambda: 0,
    inputs: Inputs | None = None,
    place: Callable[[], None] = lambda: None,
) -> tuple[Timing, Any]:
    """Return the timing of a candidate against eager, and the result of its last timed call.

    ``between`` runs before every sample, untimed; a function that needs it is called once per
    sample. ``compilations`` must not change once the arms are warm. ``inputs`` are renewed before
    every sample of every arm, and observe the candidate's result after each of its samples.
    ``place`` puts threads on their cores: before the warm-up and before every block, since a
    runtime may start threads late.
    """
    inputs = inputs or SameInputs()
    arms = {"eager": _Arm(eager), "control": _Arm(eager), "candidate": _Arm(candidate)}
    order = random.Random(protocol.seed)  # noqa: S311 - an order, not a secret
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        place()
        _warm_up(arms, protocol, clock, between, inputs)
        warm = compilations()
        per_block = _sample(arms, protocol, clock, between, inputs, order, place)
        if compilations() != warm:
            raise CompiledAgain("compiled again inside the timed region")
    finally:
        if collecting:
            gc.enable()
    first, control, second = (arms[name].samples() for name in ARMS)
    return timing_of(first, control, second, protocol, per_block), arms["candidate"].last


def _warm_up(
    arms: dict[str, _Arm],
    protocol: Protocol,
    clock: Clock,
    between: Call | None,
    inputs: Inputs,
) -> None:
    """Call each arm until it stops getting faster, and find how many calls fill a sample."""
    for name in ("eager", "candidate"):
        arm, began, calls, stale = arms[name], time.monotonic(), 0, 0
        while calls < protocol.warm_calls or stale < SETTLED:
            inputs.renew(arm.inner)
            if between is not None:
                between()
            before = arm.best
            stale = stale + 1 if arm.take(clock, keep=False) > 0.98 * before else 0
            calls += 1
            if time.monotonic() - began > protocol.warm_seconds and calls >= protocol.warm_calls:
                break
        if between is None:
            arm.inner = max(1, math.ceil(protocol.sample_seconds / arm.best))
    first, second = arms["eager"], arms["candidate"]
    if max(first.best, second.best) < 2 * min(first.best, second.best):
        # The best of many short samples is shorter: similar arms get samples of equal length.
        first.inner = second.inner = max(first.inner, second.inner)
    arms["control"].inner = first.inner
    inputs.prepare(max(first.inner, second.inner))


def _sample(
    arms: dict[str, _Arm],
    protocol: Protocol,
    clock: Clock,
    between: Call | None,
    inputs: Inputs,
    order: random.Random,
    place: Callable[[], None],
) -> int:
    """Take samples until there are enough; return the number of samples per arm and block."""
    # Disturbances average out inside a long sample, and there is no time for many.
    slow = max(arms[name].best * arms[name].inner for name in ("eager", "candidate")) > SLOW
    rounds = 1 if slow else ROUNDS
    began = time.monotonic()
    for block in range(1, protocol.max_blocks + 1):
        place()
        for _ in range(rounds):
            names = order.sample(ARMS, len(ARMS))
            for name in (*names, *reversed(names)):
                arm = arms[name]
                inputs.renew(arm.inner)
                if between is not None:
                    between()
                arm.take(clock, keep=True)
                if name == "candidate":
                    inputs.observe(arm.last, arm.inner)
        spent = time.monotonic() - began
        if spent > protocol.patience:
            break
        if block < protocol.min_blocks:
            continue
        if spent > protocol.seconds or _is_narrow(arms, protocol, PER_ROUND * rounds):
            break
    return PER_ROUND * rounds


def _is_narrow(arms: dict[str, _Arm], protocol: Protocol, per_block: int) -> bool:
    eager = arms["eager"].wall
    return all(
        half_width(_ratio_of(eager, arms[name].wall, protocol, per_block)) <= protocol.width
        for name in ("control", "candidate")
    )


def _ratio_of(
    first: Sequence[float], second: Sequence[float], protocol: Protocol, per_block: int
) -> Interval:
    return median_interval(block_logs(first, second, per_block), protocol.confidence)


def timing_of(
    eager: Samples, control: Samples, candidate: Samples, protocol: Protocol, per_block: int
) -> Timing:
    """Return the timing of samples: intervals and verdict.

    The speedup compares the candidate with both eager arms: they are the same function.
    """
    logs = [block_logs(arm.wall, candidate.wall, per_block) for arm in (eager, control)]
    speedup = median_interval((logs[0] + logs[1]) / 2, protocol.confidence)
    noise = _ratio_of(eager.wall, control.wall, protocol, per_block)
    blocks = len(candidate.wall) // per_block
    if blocks < protocol.min_blocks:
        judged = TimingVerdict(
            Verdict.AMBIGUOUS, f"time for {blocks} of {protocol.min_blocks} blocks"
        )
    else:
        judged = judge(speedup, noise, protocol.margin)
    on_device = None
    if eager.device and candidate.device:
        on_device = _ratio_of(eager.device, candidate.device, protocol, per_block)
    return Timing(
        *(eager, control, candidate, speedup, noise, judged.verdict, judged.reason),
        device_speedup=on_device,
        per_block=per_block,
    )


def is_noisy(timing: Timing, protocol: Protocol) -> bool:
    """Return whether noise, and not a speedup near the margin, makes the verdict ambiguous."""
    widest = max(half_width(timing.noise), half_width(timing.speedup))
    return timing.verdict is Verdict.AMBIGUOUS and widest > protocol.margin
