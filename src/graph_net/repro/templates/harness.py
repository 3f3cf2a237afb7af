"""Eager against compiled: the same outputs, and as fast?."""

import gc
import math
import random
import statistics
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch

from graph_net.repro.templates.common import flat, tensors

SHOWN, NOT_SHOWN, CANNOT_TELL = 0, 1, 2  # exit codes
MARGIN = 0.02  # within this two functions are equally fast
LEAST_BLOCKS, MOST_BLOCKS, SAMPLE_SECONDS = 8, 40, 1e-3

Call = Callable[..., Any]


def told(code: int, text: str) -> int:
    """Print the outcome on one line, the last one."""
    word = {SHOWN: "SHOWN", NOT_SHOWN: "NOT SHOWN", CANNOT_TELL: "CANNOT TELL"}[code]
    print(f"{word}: {' '.join(text.split())[:300]}", flush=True)
    return code


def observed(call: Call, inputs: list[Any], changed: list[int]) -> list[Any]:
    """What a call gives, and what it leaves in the inputs that it changes."""
    with torch.inference_mode():
        torch.manual_seed(0)
        return [*flat(call(*inputs)), *(inputs[place] for place in changed)]


def difference(found: list[Any], wanted: list[Any], tolerance: dict[Any, Any]) -> str:
    """The first thing that is wrong with some outputs; empty where nothing is."""
    if len(found) != len(wanted):
        return f"{len(found)} outputs instead of {len(wanted)}"
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            if type(one) is not type(other) or not (one == other or one != one):
                return f"output {place} is {one!r}, not {other!r}"
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            forms = [f"{value.dtype} {tuple(value.shape)}" for value in (one, other)]
            return f"output {place} is {forms[0]}, not {forms[1]}"
        wide = torch.complex128 if one.is_complex() else torch.float64
        a, b = one.detach().to(wide), other.detach().to(wide)
        absolute, relative = tolerance.get(one.dtype, (0.0, 0.0))
        near = (a - b).abs() <= absolute + relative * b.abs()
        bad = ~(near | (a == b) | (a.isnan() & b.isnan()))
        if bool(bad.any()):
            far = float((a - b).abs()[bad].max())
            return (
                f"output {place} differs in {int(bad.sum())} of {bad.numel()} elements, by up to "
                f"{far:.3g} (allowed: {absolute:.1e} + {relative:.1e} * |value|)"
            )
    return ""


def timed(eager: Call, candidate: Call, seconds: float, restore: Call | None) -> list[Any]:
    """Logarithms of eager / candidate and of eager / eager, one of each a block.

    The arms take turns in random orders and the same orders backwards; an arm's value in a block
    is its quickest sample, since what disturbs a sample only adds to it.
    """
    arms: list[Call] = [eager, eager, candidate]
    calls = [1, 1, 1]

    def sample(arm: int) -> float:
        if restore is not None:
            restore()
        synchronize()
        start = time.perf_counter()
        for _ in range(calls[arm]):
            arms[arm]()
        synchronize()
        return (time.perf_counter() - start) / calls[arm]

    best = [min(sample(arm) for _ in range(5)) for arm in (0, 2)]
    if restore is None:
        calls = [max(1, math.ceil(SAMPLE_SECONDS / value)) for value in (best[0], *best)]
    order, began, logs = random.Random(0), time.monotonic(), ([], [])  # type: ignore[var-annotated]  # noqa: S311
    for block in range(MOST_BLOCKS):
        if block >= LEAST_BLOCKS and time.monotonic() - began > seconds:
            break
        quickest = [math.inf] * 3
        for _ in range(2):
            turn = order.sample(range(3), 3)
            for arm in (*turn, *reversed(turn)):
                quickest[arm] = min(quickest[arm], sample(arm))
        first, control, second = map(math.log, quickest)
        logs[0].append((first + control) / 2 - second)
        logs[1].append(first - control)
    return list(logs)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def interval(logs: list[float]) -> tuple[float, float, float]:
    """The median as a ratio, with the 99 % interval that ranks give."""
    ordered, count, skipped, tail = sorted(logs), len(logs), 0, 0.5 ** len(logs)
    while skipped < (count - 1) // 2:
        tail += math.comb(count, skipped + 1) * 0.5**count
        if tail > 0.005:
            break
        skipped += 1
    numbers = (ordered[skipped], statistics.median(ordered), ordered[count - 1 - skipped])
    low, middle, high = map(math.exp, numbers)
    return low, middle, high


def speed(
    eager: Call, candidate: Call, inputs: list[Any], changed: list[int], seconds: float
) -> int:
    """Time both in turns and tell."""
    kept = {place: inputs[place].clone() for place in changed}

    def restore() -> None:
        for place, value in kept.items():
            inputs[place].copy_(value)

    gc.collect()
    gc.disable()
    with torch.inference_mode():
        logs, control = timed(
            lambda: eager(*inputs), lambda: candidate(*inputs), seconds, restore if kept else None
        )
    gc.enable()
    low, middle, high = interval(logs)
    noise_low, _, noise_high = interval(control)
    floor = max(MARGIN, noise_high - 1, 1 / noise_low - 1)
    words = f"{middle:.2f}x as fast as eager [{low:.2f}, {high:.2f}], noise {floor:.0%}"
    if high < 1 / (1 + floor):
        return told(SHOWN, f"slower, {words}")
    return told(NOT_SHOWN, f"the same outputs, {words}")


def main(
    model: torch.nn.Module,
    make_inputs: Callable[[], list[Any]],
    compiled: Callable[..., Call],
    options: dict[str, Any],
    tolerance: dict[Any, Any],
    changed: list[int],
    draws_random: bool,
    pure: bool,
    seconds: float,
) -> int:
    """The outcome as an exit code: 0 shown, 1 not shown, 2 cannot tell (eager fails)."""
    try:
        wanted, again = (observed(model.forward, make_inputs(), changed) for _ in range(2))
    except Exception as error:
        traceback.print_exc()
        return told(CANNOT_TELL, f"eager itself fails: {type(error).__name__}: {error}")
    try:
        candidate = compiled(model, make_inputs(), options)
        found = observed(candidate, make_inputs(), changed)
    except Exception as error:
        traceback.print_exc()
        return told(SHOWN, f"error: {type(error).__name__}: {error}")
    if pure:
        wanted, again = tensors(wanted), tensors(again)
    if draws_random or difference(again, wanted, {}):
        print("eager does not repeat its own outputs: their values are not compared")
        tolerance = {value.dtype: (math.inf, math.inf) for value in tensors(wanted)}
    wrong = difference(found, wanted, tolerance)
    if wrong:
        return told(SHOWN, f"mismatch: {wrong}")
    return speed(model.forward, candidate, make_inputs(), changed, seconds)
