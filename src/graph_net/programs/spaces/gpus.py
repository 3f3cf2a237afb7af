"""Gpu: the limits of GPUs that programs were measured on, from a table in ``gpus.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files

from graph_net.programs.spaces.space import SpaceError


@dataclass(frozen=True)
class Gpu:
    """A GPU's limits, which decide how a program fills it; memory in bytes."""

    name: str
    arch: str
    sms: int
    """Multiprocessors."""
    lanes: int
    """Single-precision multiply-adds per cycle and multiprocessor."""
    clock: float
    """Clock in MHz."""
    warp: int
    threads: int
    """Most threads that a multiprocessor holds; likewise blocks, shared and registers."""
    blocks: int
    shared: int
    registers: int
    l2: int
    bandwidth: float
    """Memory bandwidth in GB/s."""
    source: str

    @property
    def flops(self) -> float:
        """Single-precision operations per second."""
        return 2e6 * self.sms * self.lanes * self.clock

    @property
    def bytes(self) -> float:
        """Bytes to or from memory per second."""
        return 1e9 * self.bandwidth


def gpu_names() -> list[str]:
    """Return the names of all GPUs of the table."""
    return [gpu.name for gpu in _table()]


def find_gpu(name: str) -> Gpu:
    """Return a GPU by its name (``V100``) or a device's name (``Tesla V100-SXM2-16GB``)."""
    asked = _letters(name)
    held = [gpu for gpu in _table() if _letters(gpu.name) in asked]
    if not held:
        raise SpaceError(f"no GPU is called {name[:80]!r}; known: {', '.join(gpu_names())}")
    return max(held, key=lambda gpu: len(gpu.name))


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


@cache
def _table() -> tuple[Gpu, ...]:
    tree = json.loads(files(__package__).joinpath("gpus.json").read_text("utf-8"))
    assert tree["columns"] == [field.name for field in fields(Gpu)]
    return tuple(Gpu(*row) for row in tree["gpus"])
