"""What the collector's processes do: compile without the GPU, or measure with it alone."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from graph_net.isolate.worker import Retire
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.bench import Bench, costs_of, failure_of, flush_buffer, timed
from graph_net.programs.triton.benches import Benches
from graph_net.programs.triton.compiling import compile_program, leave_device_alone
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.target import this_machine
from graph_net.programs.triton.workloads import Collected
from graph_net.results import Failure, Stage, Symptom

Handle = Callable[[Any], Any]
Make = Callable[[], Handle]
"""Called once in each process; what it returns is called with every piece of work."""
NICE = 10
"""Compiling gives way to the process that starts kernels."""
BASELINE = 10
"""Repeats of torch's own time for a workload."""


@dataclass(frozen=True)
class PendingProgram:
    """A program on its way: which workload, which schedule, the best time so far."""

    place: int
    schedule: str
    best: float | None = None
    again: bool = False
    """Whether it has been measured before: what the two times differ by is the noise."""
    extra: dict[str, Any] = field(default_factory=dict, compare=False)


def probe() -> Handle:
    """In a process of its own: the device and the software, or what is missing."""

    def described(_: Any) -> dict[str, Any]:
        import torch
        import triton

        found = this_machine()
        versions = {"torch": torch.__version__, "triton": triton.__version__}
        versions |= {"cuda": torch.version.cuda or "", "python": platform.python_version()}
        return {
            "target": found.text if found else "",
            "device": {
                "name": found.name if found else "",
                "cores": os.cpu_count(),
                "driver": _driver(),
                **versions,
            },
        }

    return described


def _driver() -> str:
    try:
        with open("/proc/driver/nvidia/version") as file:
            return file.readline().strip()
    except OSError:
        return ""


def compiler(works: list[Collected], target: str, alone: bool) -> Make:
    """Compiles pieces; ``alone`` leaves the GPU alone, which is how it should be."""

    def make() -> Handle:
        os.nice(NICE)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a failed pass prints the whole program
        spaces: dict[int, TritonSpace] = {}
        if alone:
            leave_device_alone(TritonSpace(works[0].workload, target).gpu.arch)

        def build(piece: PendingProgram) -> dict[str, Any]:
            space = spaces.get(piece.place)
            if space is None:
                space = spaces[piece.place] = TritonSpace(works[piece.place].workload, target)
            begin = time.monotonic()
            try:
                kernels = compile_program(space.family, space.config(piece.schedule))
            except Exception as error:
                return {"failure": compile_failure(error)}
            needed = max(int(kernel.metadata.shared) for kernel in kernels)
            if needed > space.gpu.shared:
                what = f"{needed} bytes of shared memory, {space.gpu.shared} there are"
                return {"failure": Failure(Stage.COMPILE, Symptom.UNSUPPORTED, what)}
            return {"compiled": time.monotonic() - begin}

        return build

    return make


def compile_failure(error: Exception) -> Failure:
    """An exception of the compiler: its first and its last line, which say where and what."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    text = lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"
    return Failure(Stage.COMPILE, Symptom.EXCEPTION, f"{type(error).__name__}: {text}"[:300])


def measurer(works: list[Collected], target: str) -> Make:
    """Measures pieces, the only process that uses the GPU."""

    def make() -> Handle:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        flush = flush_buffer()
        benches = Benches(works, target)
        compared: set[int] = set()

        def measure(piece: PendingProgram) -> dict[str, Any]:
            result: dict[str, Any] = {}
            begin = time.monotonic()
            try:
                space, bench = benches.of(piece.place)
                if piece.place not in compared:
                    compared.add(piece.place)
                    result |= compare(bench, flush)
                begin = time.monotonic()
                prepared = bench.prepare(space.config(piece.schedule))
                result |= {"loaded": time.monotonic() - begin, "details": prepared.details}
                found = costs_of(prepared.run, space.family.flops(), piece.best, flush)
                result["costs"] = found.costs
                if found.overtaken:
                    result["details"] = {**prepared.details, "overtaken": True}
            except Exception as error:
                result["failure"] = failure_of(error)
                if not isinstance(error, SpaceError) and _poisoned(torch):
                    raise Retire(result) from error
            result["seconds"] = time.monotonic() - begin
            return result

        return measure

    return make


def compare(bench: Bench, flush: Any) -> dict[str, Any]:
    """Torch's own time for a workload, and whether it may count waiting for the host."""
    run = bench.with_torch()
    timed(run, 3, flush)
    found = timed(run, BASELINE, flush)
    return {"baseline": found.costs, "baseline_overtaken": found.overtaken}


def _poisoned(torch: Any) -> bool:
    """Whether the process can use the GPU no more; frees what it does not need where it can."""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except Exception:
        return True
    return False


def mean(costs: list[float]) -> float:
    """A program's cost."""
    return statistics.fmean(costs)
