"""The worker processes of the bench: compile without the GPU, or measure alone on it."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from graph_net.isolate.worker import Retire
from graph_net.programs.collection.plan import PendingProgram
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.compiling import compile_program, leave_device_alone
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.target import target_of, this_machine
from graph_net.programs.triton.timing import costs_of, flush_buffer, timed
from graph_net.programs.triton.workload_data import WorkloadCache, WorkloadData, failure_of
from graph_net.results import Device, Failure, Stage, Symptom

Handle = Callable[[Any], Any]
Make = Callable[[], Handle]
"""Called once in each process; its result is called with every program."""
NICE = 10
"""Niceness of compiling processes, so that the process that launches kernels has priority."""
BASELINE = 10
"""Repeats of the timing of eager torch for a workload."""


def probe() -> Handle:
    """Return a handler that describes the GPU as target and Device; empty if there is none."""

    def describe(_: Any) -> dict[str, Any]:
        import torch
        import triton

        target = this_machine()
        if target is None:
            return {}
        cores = os.cpu_count() or 1
        software = {
            "driver": _driver(),
            "torch": torch.__version__,
            "triton": triton.__version__,
            "cuda": torch.version.cuda or "",
        }
        device = Device(
            "cuda", target.name, cores, cores, torch.cuda.get_device_properties(0).total_memory,
            f"{platform.system()} {platform.machine()}", platform.python_version(), software,
        )  # fmt: skip
        return {"target": target.text, "device": device}

    return describe


def _driver() -> str:
    try:
        with open("/proc/driver/nvidia/version") as file:
            return file.readline().strip()
    except OSError:
        return ""


def compiler(target: str, alone: bool) -> Make:
    """Return a maker of compilers; ``alone`` keeps them off the GPU."""

    def make() -> Handle:
        os.nice(NICE)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a failed pass prints the whole program
        space_of = cache(lambda workload: TritonSpace(workload, target))
        if alone:
            leave_device_alone(target_of(target).arch)

        def build(program: PendingProgram) -> dict[str, Any]:
            space = space_of(program.workload)
            begin = time.monotonic()
            try:
                kernels = compile_program(space.family, space.config(program.schedule))
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
    """Return the failure of an exception, with its first line (where) and last line (what)."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    text = lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"
    return Failure(Stage.COMPILE, Symptom.EXCEPTION, f"{type(error).__name__}: {text}"[:300])


def measurer(target: str) -> Make:
    """Return a maker of measurers, for the only process that uses the GPU."""

    def make() -> Handle:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        flush = flush_buffer()
        loaded = WorkloadCache(target)
        compared: set[str] = set()

        def measure(program: PendingProgram) -> dict[str, Any]:
            extra: dict[str, Any] = {}
            result: dict[str, Any] = {"extra": extra}
            begin = time.monotonic()
            try:
                space, data = loaded.load(program.workload)
                if program.workload.hash not in compared:
                    compared.add(program.workload.hash)
                    extra |= compare(data, flush)
                begin = time.monotonic()
                prepared = data.prepare(space.config(program.schedule))
                extra |= {"loaded": round(time.monotonic() - begin, 4), **prepared.details}
                taken = costs_of(prepared.run, space.family.flops(), program.best, flush)
                result["costs"] = taken.costs
                if taken.overtaken:
                    extra["overtaken"] = True
            except Exception as error:
                result["failure"] = failure_of(error)
                if not isinstance(error, SpaceError) and _poisoned(torch):
                    raise Retire(result) from error
            result["seconds"] = time.monotonic() - begin
            return result

        return measure

    return make


def compare(data: WorkloadData, flush: Any) -> dict[str, Any]:
    """Return eager torch's times for a workload, and whether they may include host waits."""
    run = data.with_torch()
    timed(run, 3, flush)
    taken = timed(run, BASELINE, flush)
    return {"torch": taken.costs, **({"torch_overtaken": True} if taken.overtaken else {})}


def _poisoned(torch: Any) -> bool:
    """Return whether the GPU has become unusable in this process; else free unused memory."""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except Exception:
        return True
    return False
