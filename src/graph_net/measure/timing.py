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
from graph_net.measure.stats import TimingVerdict, block_logs, half_width, interval, judge
from graph_net.results import Interval, Samples, Timing, Verdict

ROUNDS = 2
"""A round is a random order of the arms and then the same order backwards; a block is so many."""
PER_ROUND = 2
SLOW = 0.02
"""Where a sample lasts longer than so many seconds, one round is a block."""
SETTLED = 2
"""So many calls in a row that are not the quickest yet end the warm-up."""
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


class Inputs(Interface):
    """Gives calls their inputs; what it does is not timed."""

    def prepare(self, calls: int) -> None:
        """Be ready for samples of so many calls."""
        ...

    def renew(self, calls: int) -> None:
        """Give the next so many calls inputs of other values."""
        ...

    def keep(self, result: Any, calls: int) -> None:
        """Look at what the last of the candidate's timed calls gave, or do not."""
        ...


class SameInputs:
    """Inputs that nobody changes."""

    def prepare(self, calls: int) -> None:
        """Nothing to do."""

    def renew(self, calls: int) -> None:
        """Nothing to do."""

    def keep(self, result: Any, calls: int) -> None:
        """Nothing to do."""


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
    """Something was compiled inside the timed region."""


def compare(
    eager: Call,
    candidate: Call,
    protocol: Protocol,
    clock: Clock,
    between: Call | None = None,
    compilations: Callable[[], int] = lambda: 0,
    inputs: Inputs | None = None,
    place: Callable[[], None] = lambda: None,
) -> tuple[Timing, Any]:
    """The timing of a candidate against eager, and what the last timed call of it gave.

    ``between`` runs before every sample, untimed; a function that needs it is called once a
    sample. ``compilations`` must not change once the arms are warm. ``inputs`` are renewed before
    every sample of every arm, and see what the candidate gave after each of its samples. ``place``
    puts threads on their cores: before the arms are warm, and before every block, since a runtime
    may start threads late.
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
        arm, began, calls, settled = arms[name], time.monotonic(), 0, 0
        while calls < protocol.warm_calls or settled < SETTLED:
            inputs.renew(arm.inner)
            if between is not None:
                between()
            before = arm.best
            settled = settled + 1 if arm.take(clock, keep=False) > 0.98 * before else 0
            calls += 1
            if time.monotonic() - began > protocol.warm_seconds and calls >= protocol.warm_calls:
                break
        if between is None:
            arm.inner = max(1, math.ceil(protocol.sample_seconds / arm.best))
    first, second = arms["eager"], arms["candidate"]
    if max(first.best, second.best) < 2 * min(first.best, second.best):
        # The quickest of many short samples is quicker: arms that are alike get alike samples.
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
    """Take samples until there are enough; how many of an arm make a block."""
    # What disturbs a long sample averages out inside it, and there is no time for many.
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
                    inputs.keep(arm.last, arm.inner)
        spent = time.monotonic() - began
        if spent > protocol.patience:
            break
        if block < protocol.min_blocks:
            continue
        if spent > protocol.seconds or _narrow(arms, protocol, PER_ROUND * rounds):
            break
    return PER_ROUND * rounds


def _narrow(arms: dict[str, _Arm], protocol: Protocol, per_block: int) -> bool:
    eager = arms["eager"].wall
    return all(
        half_width(_ratio(eager, arms[name].wall, protocol, per_block)) <= protocol.width
        for name in ("control", "candidate")
    )


def _ratio(
    first: Sequence[float], second: Sequence[float], protocol: Protocol, per_block: int
) -> Interval:
    return interval(block_logs(first, second, per_block), protocol.confidence)


def timing_of(
    eager: Samples, control: Samples, candidate: Samples, protocol: Protocol, per_block: int
) -> Timing:
    """The intervals and the verdict of samples, as they were taken or as they were stored.

    The speedup compares the candidate with both eager arms: they are the same function.
    """
    logs = [block_logs(arm.wall, candidate.wall, per_block) for arm in (eager, control)]
    speedup = interval((logs[0] + logs[1]) / 2, protocol.confidence)
    noise = _ratio(eager.wall, control.wall, protocol, per_block)
    blocks = len(candidate.wall) // per_block
    if blocks < protocol.min_blocks:
        judged = TimingVerdict(
            Verdict.AMBIGUOUS, f"time for {blocks} of {protocol.min_blocks} blocks"
        )
    else:
        judged = judge(speedup, noise, protocol.margin)
    on_device = None
    if eager.device and candidate.device:
        on_device = _ratio(eager.device, candidate.device, protocol, per_block)
    return Timing(
        *(eager, control, candidate, speedup, noise, judged.verdict, judged.reason),
        device_speedup=on_device,
        per_block=per_block,
    )


def is_noisy(timing: Timing, protocol: Protocol) -> bool:
    """Whether noise, and not a speedup near the margin, is why nothing could be told."""
    widest = max(half_width(timing.noise), half_width(timing.speedup))
    return timing.verdict is Verdict.AMBIGUOUS and widest > protocol.margin
