"""Triton's language on torch's CPU tensors: what a kernel computes, program by program.

It says nothing of speed, warps or stages, but everything of indices, masks and epilogues: a load or
a store outside of a buffer is an error here, where a GPU might pass over it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

PROGRAM = [0, 0, 0]
"""Which program of the grid runs."""


@dataclass(frozen=True)
class Pointer:
    """Places in a buffer."""

    buffer: torch.Tensor
    at: Any = 0

    def __add__(self, by: Any) -> Pointer:
        return Pointer(self.buffer, self.at + by)

    @property
    def dtype(self) -> Any:
        return SimpleNamespace(element_ty=self.buffer.dtype)


class Kernel:
    """A function that ``triton.jit`` was given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *given: Any) -> Any:
        return self.function(*given)

    def __getitem__(self, grid: tuple[int, int, int]) -> Callable[..., None]:
        def start(
            *buffers: torch.Tensor, num_warps: int, num_stages: int, **constants: Any
        ) -> None:
            pointers = [Pointer(buffer.view(-1)) for buffer in buffers]
            for PROGRAM[:] in itertools.product(*map(range, grid)):
                self.function(*pointers, **constants)

        return start

    def warmup(self, *given: Any, **options: Any) -> Any:
        return SimpleNamespace(metadata=SimpleNamespace(shared=0))


def _places(pointer: Pointer, mask: Any) -> tuple[torch.Tensor, torch.Tensor]:
    at = torch.as_tensor(pointer.at)
    wanted = torch.as_tensor(True if mask is None else mask)
    at, inside = torch.broadcast_tensors(at, wanted)  # type: ignore[no-untyped-call]
    used = at[inside]
    if used.numel() and not (int(used.min()) >= 0 and int(used.max()) < pointer.buffer.numel()):
        raise IndexError(f"{int(used.min())} to {int(used.max())} of {pointer.buffer.numel()}")
    return at, inside


def load(pointer: Pointer, mask: Any = None, other: float = 0.0) -> torch.Tensor:
    at, inside = _places(pointer, mask)
    found = pointer.buffer[torch.where(inside, at, 0)]
    return torch.where(inside, found, torch.tensor(other, dtype=found.dtype))


def store(pointer: Pointer, values: torch.Tensor, mask: Any = None) -> None:
    at, inside = _places(pointer, mask)
    pointer.buffer[at[inside]] = values.expand(at.shape)[inside].to(pointer.buffer.dtype)


def dot(left: torch.Tensor, right: torch.Tensor, sums: torch.Tensor, **_: Any) -> torch.Tensor:
    return sums + left.float() @ right.float()


def modules() -> dict[str, ModuleType]:
    """``triton`` and ``triton.language``."""
    language, triton = ModuleType("triton.language"), ModuleType("triton")
    known: dict[str, Any] = {
        "constexpr": int,
        "float32": torch.float32,
        "program_id": lambda axis: PROGRAM[axis],
        "cdiv": lambda a, b: -(-a // b),
        "arange": torch.arange,
        "zeros": torch.zeros,
        "full": torch.full,
        "range": lambda *bounds, num_stages: range(*bounds),
        "static_range": range,
        "load": load,
        "store": store,
        "dot": dot,
        "max": lambda of, axis: of.amax(axis),
        "sum": lambda of, axis: of.sum(axis),
        "maximum": lambda a, b: torch.maximum(a, torch.as_tensor(b)),
        "minimum": lambda a, b: torch.minimum(a, torch.as_tensor(b)),
        "where": torch.where,
        **{name: getattr(torch, name) for name in ("exp", "erf", "sigmoid", "rsqrt")},
    }
    for name, value in known.items():
        setattr(language, name, value)
    triton.jit = Kernel  # type: ignore[attr-defined]
    triton.language = language  # type: ignore[attr-defined]
    return {"triton": triton, "triton.language": language}
