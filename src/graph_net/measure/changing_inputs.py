"""Inputs whose values change from call to call, so that no result can be cached.

All values of an input are windows of one stretch of drawn numbers, so renewing the tensors of a
whole sample copies two pieces of memory: a window used before and, over a random half of every
tensor, a new one. Code that compares a few elements to recognise its inputs is often fooled. The
tensors stay where they are; those of one sample's calls lie side by side, each with its own values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Any

import torch

from graph_net.graph import Graph, Input, TensorSpec
from graph_net.graph.deciding_inputs import deciding_inputs
from graph_net.graph.graph import Role
from graph_net.graph.recipe import Constant, Integers, Literal
from graph_net.graph.runtime import torch_dtype
from graph_net.graph.tensors import draw_range, simplify_recipe

WINDOW_STARTS = 1 << 14
"""Offsets that a window may begin at: more than a measurement takes samples."""
MOST_BYTES = 16 << 20
"""Bytes of all tensors of one sample; if they need more, calls share values."""
STRETCH_BYTES = 64 << 20
"""Bytes of a stretch; larger tensors are filled from it piece by piece."""
ALIGNED = 256
"""Alignment in bytes; kernels need less, and compiled code the same in every call."""
HOMES = 4
"""Windows that are reused, each time with a new half."""
Windows = tuple[tuple[int, ...], ...]
"""For each input, the offsets of its windows and of its new half."""


def input_choices(graph: Graph) -> Iterator[tuple[int, ...]]:
    """Yield choices of inputs to change, by position, the best first; the last one is empty.

    Data changes and weights do not, unless no data may change: literal numbers (positions, offsets
    of sequences) may have a meaning, and inputs that decide sizes or branches would make a compiler
    compile again.
    """
    fixed = deciding_inputs(graph)
    free = [(i, e) for i, e in enumerate(graph.inputs) if e.name not in fixed and _varies(e)]
    data = [(i, e) for i, e in free if e.role is Role.INPUT]
    drawn = tuple(i for i, e in data if not isinstance(e.recipe, Literal) or _is_floating(e))
    written = tuple(i for i, e in data if i not in drawn)
    weights = tuple(i for i, e in free if e.role is not Role.INPUT and _is_floating(e))
    yield from (choice for choice in (drawn, written, weights) if choice)
    yield ()


def _varies(entry: Input) -> bool:
    """Return whether an input's recipe has more than one value."""
    if not isinstance(entry.spec, TensorSpec) or 0 in entry.spec.shape:
        return False
    recipe = simplify_recipe(entry.recipe, torch_dtype(entry.spec.dtype))
    if isinstance(recipe, Literal):
        return len(set(recipe.values)) > 1
    return not isinstance(recipe, Constant)


def _is_floating(entry: Input) -> bool:
    assert isinstance(entry.spec, TensorSpec)
    kind = torch_dtype(entry.spec.dtype)
    return kind.is_floating_point or kind.is_complex


@dataclass(frozen=True)
class _Stretch:
    """One input: the numbers its windows are cut from, and its tensors side by side."""

    numbers: torch.Tensor
    buffer: torch.Tensor
    extent: int
    pitch: int
    homes: tuple[int, ...]
    tensors: tuple[torch.Tensor, ...]

    @property
    def _step(self) -> int:
        return len(self.numbers) - WINDOW_STARTS

    def draw(self, random: Random) -> tuple[int, ...]:
        """Draw the offsets of the next values, and of the half that is new."""
        if self._step < len(self.buffer):
            pieces = -(-len(self.buffer) // self._step)
            return tuple(random.randrange(WINDOW_STARTS) for _ in range(pieces))
        first = random.randrange(self.extent - self._half + 1)
        return random.choice(self.homes), random.randrange(WINDOW_STARTS), first

    @property
    def _half(self) -> int:
        return -(-self.extent // 2)

    def fill(self, offsets: tuple[int, ...], calls: int) -> None:
        """Write the values of this many calls."""
        end = self.pitch * calls
        if self._step < len(self.buffer):  # too large for windows that are reused
            for number, start in enumerate(offsets):
                piece = self.buffer[number * self._step : min((number + 1) * self._step, end)]
                piece.copy_(self.numbers[start : start + len(piece)])
            return
        home, new, first = offsets
        self.buffer[:end].copy_(self.numbers[home : home + end])
        over = slice(first, first + self._half)
        fresh = self.numbers[new : new + end].view(calls, self.pitch)
        self.buffer[:end].view(calls, self.pitch)[:, over].copy_(fresh[:, over])


class ChangingInputs:
    """Tensors for some calls, the inputs at ``changing`` with values that ``renew`` replaces."""

    def __init__(
        self, graph: Graph, values: Sequence[Any], changing: Sequence[int], seed: int, calls: int
    ) -> None:
        self._stretches: list[_Stretch] = []
        # Tensors made under inference mode differ in kind from those the code was compiled for.
        with torch.inference_mode(False), torch.no_grad():
            self._most = count_sets(graph, changing, calls)
            for position in changing:
                entry, device = graph.inputs[position], values[position].device
                self._stretches.append(_make_stretch(graph, entry, device, seed, self._most))
        self.sets: list[list[Any]] = []
        for number in range(self._most):
            tensors = list(values)
            for position, stretch in zip(changing, self._stretches, strict=True):
                tensors[position] = stretch.tensors[number]
            self.sets.append(tensors)
        self.turn = cycle(self.sets)

    def renew(self, random: Random, calls: int) -> Windows:
        """Give the tensors of these calls other values; return what ``fill`` needs to repeat it."""
        windows = tuple(stretch.draw(random) for stretch in self._stretches)
        self.fill(windows, calls)
        return windows

    def fill(self, windows: Windows, calls: int) -> None:
        """Give the tensors the values of these windows; ``turn`` begins with the first set."""
        for stretch, offsets in zip(self._stretches, windows, strict=True):
            stretch.fill(offsets, min(calls, self._most))
        self.turn = cycle(self.sets)

    def last(self, calls: int) -> list[Any]:
        """Return the inputs of the last of this many calls."""
        return self.sets[(calls - 1) % self._most]


def count_sets(graph: Graph, changing: Sequence[int], calls: int) -> int:
    """Return how many of these calls get values of their own."""
    size = sum(_bytes_of(graph, graph.inputs[position]) for position in changing)
    return max(1, min(calls, MOST_BYTES // size)) if size else 1


def _extent(graph: Graph, entry: Input) -> tuple[int, int]:
    """Return the elements that a tensor spans, and the distance to the next call's tensor."""
    assert isinstance(entry.spec, TensorSpec)
    item = torch_dtype(entry.spec.dtype).itemsize
    sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
    extent = math.prod(sizes)
    if strides is not None:
        extent = 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    aligned = max(1, ALIGNED // item)
    return extent, -(-extent // aligned) * aligned


def _bytes_of(graph: Graph, entry: Input) -> int:
    assert isinstance(entry.spec, TensorSpec)
    return _extent(graph, entry)[1] * torch_dtype(entry.spec.dtype).itemsize


def _make_stretch(
    graph: Graph, entry: Input, device: torch.device, seed: int, calls: int
) -> _Stretch:
    assert isinstance(entry.spec, TensorSpec)
    dtype = torch_dtype(entry.spec.dtype)
    extent, pitch = _extent(graph, entry)
    count = min(pitch * calls, STRETCH_BYTES // dtype.itemsize) + WINDOW_STARTS
    numbers = _draw_numbers(entry, entry.spec.dtype, count, seed, device)
    buffer = torch.zeros(pitch * calls, dtype=dtype, device=device)
    sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
    if strides is None:
        strides = torch.empty(sizes, device="meta").stride()
    storage = buffer.untyped_storage()
    tensors = tuple(
        # Not a view: compilers treat views of one base differently.
        torch.empty(0, dtype=dtype, device=device).set_(storage, number * pitch, sizes, strides)
        for number in range(calls)
    )
    random = Random(f"{seed} {entry.name}")  # noqa: S311 - the seed is the secret
    homes = tuple(random.randrange(WINDOW_STARTS) for _ in range(HOMES))
    return _Stretch(numbers, buffer, extent, pitch, homes, tensors)


def _draw_numbers(
    entry: Input, dtype: str, count: int, seed: int, device: torch.device
) -> torch.Tensor:
    """Draw values by the recipe; literal ones in random order, with repetition."""
    recipe = entry.recipe
    if not isinstance(recipe, Literal):
        return draw_range(recipe, 0, count, dtype, name=entry.name, seed=seed, device=device)
    values = draw_range(recipe, 0, len(recipe.values), dtype, name=entry.name, device=device)
    index = Integers(0, len(recipe.values) - 1)
    return values[draw_range(index, 0, count, "int64", name=entry.name, seed=seed, device=device)]
