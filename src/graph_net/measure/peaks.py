"""The peaks of a machine: bytes per second outside and inside its caches, operations per second.

Each figure is the best of several kernels, sizes and repetitions. A figure that is too low makes a
floor too high, so nothing is averaged: disturbances only make a repetition slower.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from graph_net.measure.task import now
from graph_net.results import Device
from graph_net.results.peaks import DTYPES, TF32, Peaks, identity

SPENT = 0.3
"""Seconds for each kernel and size, after one call to warm up."""
LONGEST = 0.5
"""Seconds; a product that takes longer is not tried at a larger size."""
INNER = 20
"""Calls in a row on a GPU: one wait per call would cost more than a short call."""
SIDES = (256, 512, 1024, 2048, 4096, 8192)
FITTING = (1 << 18, 1 << 20, 1 << 22, 1 << 24)
BEYOND = 4
"""Size of the arrays that measure memory itself, as a multiple of the caches' size."""
SMALLEST = 64 << 20
UNKNOWN_CACHE = 64 << 20
"""Bytes of cache of a machine that does not state them: more than most have."""


def measure_peaks(device: Device, report: Callable[[str], None] = lambda part: None) -> Peaks:
    """Measure this machine's peaks, with as many threads as the device has; takes seconds."""
    threads = torch.get_num_threads()
    if device.kind == "cpu":
        torch.set_num_threads(device.threads)
    try:
        cache = cache_bytes(device.kind)
        load = os.getloadavg()[0]
        report("memory")
        most = max(device.memory_bytes // 16, SMALLEST)
        large = min(max(SMALLEST, BEYOND * cache), most)
        bandwidth = max(_rates(device.kind, large))
        report("caches")
        inside = max(rate for size in FITTING for rate in _rates(device.kind, size))
        flops: dict[str, float] = {}
        for dtype in (*DTYPES, *((TF32,) if device.kind == "cuda" else ())):
            report(dtype)
            rate = _product_rate(device.kind, dtype)
            # A short type slower than float32 has no units of its own: programs would widen it.
            if rate and rate >= flops.get("float32", 0.0):
                flops[dtype] = rate
    finally:
        torch.set_num_threads(threads)
    return Peaks(
        identity(device), device.name, bandwidth, max(inside, bandwidth), cache, flops,
        f"torch {torch.__version__}", now(), load,
    )  # fmt: skip


def cache_bytes(kind: str) -> int:
    """Return the bytes of all caches, where a repeated call may find its data."""
    if kind == "cuda":
        return int(torch.cuda.get_device_properties(0).L2_cache_size)
    sizes: dict[tuple[str, str], int] = {}
    for index in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cache/index*"):
        try:
            level, shared, size, contents = (
                (index / name).read_text("ascii").strip()
                for name in ("level", "shared_cpu_list", "size", "type")
            )
        except OSError:
            continue
        if contents != "Instruction":
            sizes[level, shared] = _parse_size(size)
    # Levels may hold the same or different data: together they hold no more than their sum.
    return sum(sizes.values()) or UNKNOWN_CACHE


def _parse_size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    try:
        return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text or 0)
    except ValueError:
        return 0


def _rates(kind: str, size: int) -> Iterator[float]:
    """Yield the bytes per second of a sum, a copy and a triad over arrays of ``size`` bytes."""
    count = max(1, size // 12)
    a, b, c = (torch.ones(count, dtype=torch.float32, device=kind) for _ in range(3))
    moved = count * 4
    calls: list[tuple[Callable[[], Any], int]] = [
        (lambda: torch.sum(b), moved),
        (lambda: a.copy_(b), 2 * moved),
        (lambda: torch.add(b, c, alpha=3.0, out=a), 3 * moved),
    ]
    with torch.inference_mode():
        for call, number in calls:
            yield number / time_quickest(kind, call)


def _product_rate(kind: str, dtype: str) -> float:
    """Return the operations per second of the fastest square product; 0 without a kernel."""
    best = 0.0
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if dtype == TF32 else "highest")
    try:
        for side in SIDES:
            operand = torch.float32 if dtype == TF32 else getattr(torch, dtype)
            a = torch.ones(side, side, device=kind).to(operand)
            out = torch.empty_like(a)
            seconds = time_quickest(kind, lambda a=a, out=out: torch.mm(a, a, out=out))  # type: ignore[misc]
            best = max(best, 2.0 * side**3 / seconds)
            if 8 * seconds > LONGEST and kind == "cpu":
                break
    except RuntimeError:  # no kernel for it, or no memory for the largest
        return best
    finally:
        torch.set_float32_matmul_precision(precision)
    return best


def time_quickest(kind: str, call: Callable[[], Any], spent: float = SPENT) -> float:
    """Return the seconds of the quickest call, of as many as fit into a time; at least three."""
    best, taken, began = float("inf"), 0, 0.0
    inner = INNER if kind == "cuda" else 1
    while taken < 4 or time.perf_counter() - began < spent:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        if kind == "cuda":
            torch.cuda.synchronize()
        seconds = (time.perf_counter() - start) / inner
        if taken:
            best = min(best, seconds)
        else:
            began = time.perf_counter()  # the first one warms up
        taken += 1
        if seconds > LONGEST and taken >= 3:
            break
    return max(best, 1e-9)
