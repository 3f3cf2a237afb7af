"""Compile a program's kernels, with or without a GPU; the only entry to triton's compiler.

A kernel compiled without a GPU is stored in triton's cache on disk, where the process with the GPU
finds it: all cores compile and one process measures.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.family import Config, Family, Launch

MODULES = ("graph_net.programs.triton.kernels_gemm", "graph_net.programs.triton.kernels_rowwise")


def kernel_of(name: str) -> Any:
    """Return a kernel by its name; raise SpaceError if triton is not installed."""
    try:
        modules = [importlib.import_module(module) for module in MODULES]
    except ImportError as error:
        raise SpaceError(
            f"triton is needed to build programs: pip install triton ({error})"
        ) from error
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def compile_program(family: Family, config: Config) -> list[Any]:
    """Return the compiled kernels of a program, in order."""
    buffers = {**family.buffers(), "parts": family.workspace(config)}
    kernels = []
    for launch in family.launches(config):
        types = [buffers[name].dtype for name in launch.buffers]  # type: ignore[union-attr]
        kernels.append(_compiled(launch, types))
    return kernels


def _compiled(launch: Launch, types: Sequence[str]) -> Any:
    import torch

    return kernel_of(launch.kernel).warmup(
        *(torch_dtype(torch, name) for name in types),
        grid=launch.grid,
        num_warps=launch.warps,
        num_stages=launch.stages,
        **launch.constants,
    )


def torch_dtype(torch: Any, name: str) -> Any:
    """Return the storage dtype of a buffer."""
    return getattr(torch, "float32" if name == "tf32" else name)


class NoDevice:
    """Replaces triton's driver in a process that compiles and never runs kernels."""

    def __init__(self, arch: str) -> None:
        self._arch = int(arch.removeprefix("sm_"))

    def get_current_device(self) -> int:
        """Return the only device."""
        return 0

    def get_current_stream(self, device: int) -> int:
        """Return the default stream."""
        return 0

    def get_current_target(self) -> Any:
        """Return the target to compile for."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._arch, 32)


def leave_device_alone(arch: str) -> None:
    """Make this process compile for a GPU without using one."""
    from triton.runtime.driver import driver

    driver.set_active(NoDevice(arch))
