"""Gpu: the limits of GPUs that programs were measured on, from a table in ``gpus.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files

from graph_net.programs.spaces.space import SpaceError


@dataclass(frozen=True)
class Gpu:
    """A GPU, by what decides how a program fills it; memory in bytes."""

    name: str
    arch: str
    sms: int
    """Multiprocessors."""
    lanes: int
    """Single-precision multiply-adds of a multiprocessor in a cycle."""
    clock: float
    """MHz."""
    warp: int
    threads: int
    """The most that a multiprocessor holds at once, as are blocks, shared and registers."""
    blocks: int
    shared: int
    registers: int
    l2: int
    bandwidth: float
    """GB/s of its memory."""
    source: str

    @property
    def flops(self) -> float:
        """Single-precision operations in a second."""
        return 2e6 * self.sms * self.lanes * self.clock

    @property
    def bytes(self) -> float:
        """Bytes to or from memory in a second."""
        return 1e9 * self.bandwidth


def gpu_names() -> list[str]:
    """Return the names of all GPUs of the table."""
    return [gpu.name for gpu in _table()]


def find_gpu(name: str) -> Gpu:
    """Return a GPU by its name (``V100``) or by a device's (``Tesla V100-SXM2-16GB``)."""
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
