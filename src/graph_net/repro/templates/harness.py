"""Compare eager with compiled: the same outputs, and as fast?"""

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
MARGIN = 0.02  # smaller differences in speed do not count
LEAST_BLOCKS, MOST_BLOCKS, SAMPLE_SECONDS = 8, 40, 1e-3

Call = Callable[..., Any]


def report(code: int, text: str) -> int:
    """Print the outcome on one line, the last one; return the exit code."""
    outcome = {SHOWN: "SHOWN", NOT_SHOWN: "NOT SHOWN", CANNOT_TELL: "CANNOT TELL"}[code]
    print(f"{outcome}: {' '.join(text.split())[:300]}", flush=True)
    return code


def run_once(call: Call, inputs: list[Any], changed: list[int]) -> list[Any]:
    """Return the outputs of a call, and the inputs that it changes."""
    with torch.inference_mode():
        torch.manual_seed(0)
        return [*flat(call(*inputs)), *(inputs[index] for index in changed)]


def difference(actual: list[Any], expected: list[Any], tolerance: dict[Any, Any]) -> str:
    """Return the first difference between outputs; empty if there is none."""
    if len(actual) != len(expected):
        noun = "output" if len(actual) == 1 else "outputs"
        return f"{len(actual)} {noun} instead of {len(expected)}"
    for index, (left, right) in enumerate(zip(actual, expected, strict=True)):
        if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
            if type(left) is not type(right) or not (left == right or left != left):
                return f"output {index} is {left!r}, not {right!r}"
            continue
        if left.shape != right.shape or left.dtype != right.dtype:
            forms = [f"{value.dtype} {tuple(value.shape)}" for value in (left, right)]
            return f"output {index} is {forms[0]}, not {forms[1]}"
        wide = torch.complex128 if left.is_complex() else torch.float64
        a, b = left.detach().to(wide), right.detach().to(wide)
        absolute, relative = tolerance.get(left.dtype, (0.0, 0.0))
        near = (a - b).abs() <= absolute + relative * b.abs()
        bad = ~(near | (a == b) | (a.isnan() & b.isnan()))
        if bool(bad.any()):
            far = float((a - b).abs()[bad].max())
            return (
                f"output {index} differs in {int(bad.sum())} of {bad.numel()} elements, by up to "
                f"{far:.3g} (allowed: {absolute:.1e} + {relative:.1e} * |value|)"
            )
    return ""


def time_both(eager: Call, candidate: Call, seconds: float, restore: Call | None) -> list[Any]:
    """Return logarithms of eager / candidate and of eager / eager, one of each per block.

    The arms take turns in random orders and the same orders backwards; an arm's value in a block
    is its quickest sample, since a disturbance only adds to it.
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
    order, beginning, logs = random.Random(0), time.monotonic(), ([], [])  # type: ignore[var-annotated]  # noqa: S311
    for block in range(MOST_BLOCKS):
        if block >= LEAST_BLOCKS and time.monotonic() - beginning > seconds:
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
    """Return the median as a ratio, within its 99 % interval from ranks."""
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
    """Time both in turns and report."""
    saved = {index: inputs[index].clone() for index in changed}

    def restore() -> None:
        for index, value in saved.items():
            inputs[index].copy_(value)

    gc.collect()
    gc.disable()
    with torch.inference_mode():
        logs, control = time_both(
            lambda: eager(*inputs), lambda: candidate(*inputs), seconds, restore if saved else None
        )
    gc.enable()
    low, middle, high = interval(logs)
    noise_low, _, noise_high = interval(control)
    floor = max(MARGIN, noise_high - 1, 1 / noise_low - 1)
    words = f"{middle:.2f}x as fast as eager [{low:.2f}, {high:.2f}], noise {floor:.0%}"
    if high < 1 / (1 + floor):
        return report(SHOWN, f"slower, {words}")
    return report(NOT_SHOWN, f"the same outputs, {words}")


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
    """Return the outcome as an exit code: 0 shown, 1 not shown, 2 cannot tell (eager fails)."""
    try:
        expected, again = (run_once(model.forward, make_inputs(), changed) for _ in range(2))
    except Exception as error:
        traceback.print_exc()
        return report(CANNOT_TELL, f"eager itself fails: {type(error).__name__}: {error}")
    try:
        candidate = compiled(model, make_inputs(), options)
        actual = run_once(candidate, make_inputs(), changed)
    except Exception as error:
        traceback.print_exc()
        return report(SHOWN, f"error: {type(error).__name__}: {error}")
    if pure:
        expected, again = tensors(expected), tensors(again)
    if draws_random or difference(again, expected, {}):
        print("eager does not repeat its own outputs: their values are not compared")
        tolerance = {value.dtype: (math.inf, math.inf) for value in tensors(expected)}
    mismatch = difference(actual, expected, tolerance)
    if mismatch:
        return report(SHOWN, f"mismatch: {mismatch}")
    return speed(model.forward, candidate, make_inputs(), changed, seconds)
