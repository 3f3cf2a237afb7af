"""Family: kernels with the same parameters, and what is known of a program before compiling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.target import Target

if TYPE_CHECKING:
    import torch

Config = Mapping[str, int]
"""A schedule: the value of each parameter."""
BYTES = {"float8_e4m3fn": 1, "float16": 2, "bfloat16": 2, "float32": 4, "tf32": 4}
"""Bytes per number. ``tf32`` is float32 in memory, multiplied with 10 bits of mantissa."""
ELEMENTS = 1 << 31
"""Most elements of a tensor: kernels index with 32 bits."""
WORKSPACE = 1 << 30
"""Most bytes of the partial sums of split-K."""
GRID = 1 << 16
"""Limit of programs along the second and third axis of a grid, exclusive."""


@dataclass(frozen=True)
class Buffer:
    """A tensor on the device; inputs are drawn from a normal distribution of this deviation."""

    shape: tuple[int, ...]
    dtype: str
    deviation: float = 1.0

    @property
    def elements(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int:
        """Bytes of memory."""
        return self.elements * BYTES[self.dtype]


@dataclass(frozen=True)
class Launch:
    """One kernel of a program: what to compile and how to start it."""

    kernel: str
    grid: tuple[int, int, int]
    buffers: tuple[str, ...]
    constants: Mapping[str, int | str | bool]
    warps: int
    stages: int


class Family(ABC):
    """The programs of one workload; made from its module, which is validated here."""

    kernels: ClassVar[tuple[str, ...]]
    """Allowed values of ``kernel`` in a module."""
    sizes: ClassVar[tuple[str, ...]]
    """Fields of a module that are integers from 1."""
    dtypes: ClassVar[tuple[str, ...]]
    source: ClassVar[str]
    """The Python module that contains the Triton code."""

    def __init__(self, module: Mapping[str, Any], target: Target) -> None:
        self.module = module
        self.target = target
        expected = {"kernel", "dtype", *self.sizes, *self.options()}
        if module.keys() != expected:
            fields = ", ".join(sorted(module))
            raise SpaceError(f"a workload has {', '.join(sorted(expected))}, not {fields}")
        if module["dtype"] not in self.dtypes:
            raise SpaceError(f"unknown dtype {module['dtype']!r}; known: {', '.join(self.dtypes)}")
        for size in self.sizes:
            if type(module[size]) is not int or not 0 < module[size] < ELEMENTS:
                raise SpaceError(f"{size} is a whole number from 1, not {module[size]!r}")
        for name, values in self.options().items():
            if values and module[name] not in values:
                raise SpaceError(f"unknown {name} {module[name]!r}; known: {values}")
        self.check()
        for name, buffer in self.buffers().items():
            if buffer.elements >= ELEMENTS:
                raise SpaceError(f"{name} has {buffer.elements} elements, not under {ELEMENTS}")

    @classmethod
    def options(cls) -> dict[str, tuple[Any, ...]]:
        """Return the fields of a module besides kernel, dtype and sizes; with values, if few."""
        return {}

    def check(self) -> None:  # noqa: B027  # most families have nothing to check
        """Raise SpaceError if sizes do not fit each other."""

    @property
    def dtype(self) -> str:
        """Dtype of inputs and outputs."""
        return str(self.module["dtype"])

    @abstractmethod
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Return the tunable parameters, and the values of each in order."""

    @abstractmethod
    def wrong(self, config: Config) -> str | None:
        """Return why a choice of known values is not a program; None if it is."""

    @abstractmethod
    def flops(self) -> float:
        """Return the operations of the computation, independent of the program."""

    @abstractmethod
    def buffers(self) -> dict[str, Buffer]:
        """Return the inputs, and ``out``."""

    def workspace(self, config: Config) -> Buffer | None:
        """Return the buffer ``parts`` that a program needs besides inputs and output."""
        return None

    @abstractmethod
    def launches(self, config: Config) -> tuple[Launch, ...]:
        """Return the kernels of a program, in order."""

    @abstractmethod
    def shared(self, config: Config) -> int:
        """Estimate the bytes of shared memory that a block needs."""

    @abstractmethod
    def per_thread(self, config: Config) -> float:
        """Return how many numbers each thread keeps in registers throughout."""

    @abstractmethod
    def traffic(self, config: Config) -> float:
        """Return the bytes that all blocks together request, before caches."""

    @abstractmethod
    def reference(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the result as torch computes it."""

    def eager(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the result by a network's calls in eager torch, the baseline."""
        return self.reference(tensors)

    def bytes(self) -> float:
        """Return the bytes of inputs and output, each once."""
        return float(sum(buffer.bytes for buffer in self.buffers().values()))


def cdiv(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def power_over(size: int) -> int:
    """Return the smallest power of two that is at least ``size``."""
    return 1 << max(0, size - 1).bit_length()
