"""Inputs whose values change from call to call, so that nothing can be remembered.

All values of an input are windows of one stretch of drawn numbers, so that to renew the tensors of
a whole sample is to copy two pieces of memory: a window that was there before, and over one half of
every tensor, a random one, a window that was not. Whoever looks at a few elements to tell whether
inputs are known is often told so, and wrong. The tensors stay where they are; those of the calls of
one sample lie side by side, each with values of its own.
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

WINDOWS = 1 << 14
"""So many places a window may begin at: more than a measurement takes samples."""
MOST_BYTES = 16 << 20
"""For the tensors of one sample together; where they need more, calls share values."""
STRETCH_BYTES = 64 << 20
"""Larger tensors are filled piece by piece from a stretch of this size."""
ALIGNED = 256
"""Bytes; kernels ask for less, and compiled code for the same alignment in every call."""
HOMES = 4
"""So many windows come again and again, under halves that are new."""
Places = tuple[tuple[int, ...], ...]
"""For each input where its windows begin, and its new half."""


def choices(graph: Graph) -> Iterator[tuple[int, ...]]:
    """Positions of the inputs to change, the best choice first; the last one is none.

    Data is changed and weights are not, unless there is no data that may change: numbers that were
    written down (positions, offsets of sequences) may have a meaning, and what decides sizes or
    branches would make a compiler compile again.
    """
    fixed = deciding_inputs(graph)
    free = [(i, e) for i, e in enumerate(graph.inputs) if e.name not in fixed and _varies(e)]
    data = [(i, e) for i, e in free if e.role is Role.INPUT]
    drawn = tuple(i for i, e in data if not isinstance(e.recipe, Literal) or _floating(e))
    written = tuple(i for i, e in data if i not in drawn)
    weights = tuple(i for i, e in free if e.role is not Role.INPUT and _floating(e))
    yield from (choice for choice in (drawn, written, weights) if choice)
    yield ()


def _varies(entry: Input) -> bool:
    """Whether an input has other values than its own."""
    if not isinstance(entry.spec, TensorSpec) or 0 in entry.spec.shape:
        return False
    recipe = simplify_recipe(entry.recipe, torch_dtype(entry.spec.dtype))
    if isinstance(recipe, Literal):
        return len(set(recipe.values)) > 1
    return not isinstance(recipe, Constant)


def _floating(entry: Input) -> bool:
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
        return len(self.numbers) - WINDOWS

    def draw(self, random: Random) -> tuple[int, ...]:
        """Where values are to be taken from, and where the half that is new begins."""
        if self._step < len(self.buffer):
            pieces = -(-len(self.buffer) // self._step)
            return tuple(random.randrange(WINDOWS) for _ in range(pieces))
        first = random.randrange(self.extent - self._half + 1)
        return random.choice(self.homes), random.randrange(WINDOWS), first

    @property
    def _half(self) -> int:
        return -(-self.extent // 2)

    def fill(self, places: tuple[int, ...], calls: int) -> None:
        """Write the values of so many calls."""
        end = self.pitch * calls
        if self._step < len(self.buffer):  # too large for windows that come again
            for number, start in enumerate(places):
                piece = self.buffer[number * self._step : min((number + 1) * self._step, end)]
                piece.copy_(self.numbers[start : start + len(piece)])
            return
        home, new, first = places
        self.buffer[:end].copy_(self.numbers[home : home + end])
        over = slice(first, first + self._half)
        fresh = self.numbers[new : new + end].view(calls, self.pitch)
        self.buffer[:end].view(calls, self.pitch)[:, over].copy_(fresh[:, over])


class ChangingInputs:
    """Tensors for some calls, the inputs at ``places`` with values that ``renew`` replaces."""

    def __init__(
        self, graph: Graph, given: Sequence[Any], places: Sequence[int], seed: int, calls: int
    ) -> None:
        self._stretches: list[_Stretch] = []
        # Tensors made under inference mode are of another kind than those that were compiled for.
        with torch.inference_mode(False), torch.no_grad():
            self._most = fitting(graph, places, calls)
            for place in places:
                entry, device = graph.inputs[place], given[place].device
                self._stretches.append(_stretch(graph, entry, device, seed, self._most))
        self.sets: list[list[Any]] = []
        for number in range(self._most):
            tensors = list(given)
            for place, stretch in zip(places, self._stretches, strict=True):
                tensors[place] = stretch.tensors[number]
            self.sets.append(tensors)
        self.turn = cycle(self.sets)

    def renew(self, random: Random, calls: int) -> Places:
        """Give the tensors of so many calls other values; what ``fill`` makes them again from."""
        places = tuple(stretch.draw(random) for stretch in self._stretches)
        self.fill(places, calls)
        return places

    def fill(self, places: Places, calls: int) -> None:
        """Give the tensors the values they had; calls begin with the first set again."""
        for stretch, chosen in zip(self._stretches, places, strict=True):
            stretch.fill(chosen, min(calls, self._most))
        self.turn = cycle(self.sets)

    def last(self, calls: int) -> list[Any]:
        """The inputs of the last of so many calls."""
        return self.sets[(calls - 1) % self._most]


def fitting(graph: Graph, places: Sequence[int], calls: int) -> int:
    """How many of so many calls get values of their own."""
    room = sum(_bytes(graph, graph.inputs[place]) for place in places)
    return max(1, min(calls, MOST_BYTES // room)) if room else 1


def _extent(graph: Graph, entry: Input) -> tuple[int, int]:
    """Elements that a tensor reaches over, and how far it is to that of the next call."""
    assert isinstance(entry.spec, TensorSpec)
    item = torch_dtype(entry.spec.dtype).itemsize
    sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
    extent = math.prod(sizes)
    if strides is not None:
        extent = 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    aligned = max(1, ALIGNED // item)
    return extent, -(-extent // aligned) * aligned


def _bytes(graph: Graph, entry: Input) -> int:
    assert isinstance(entry.spec, TensorSpec)
    return _extent(graph, entry)[1] * torch_dtype(entry.spec.dtype).itemsize


def _stretch(graph: Graph, entry: Input, device: torch.device, seed: int, calls: int) -> _Stretch:
    assert isinstance(entry.spec, TensorSpec)
    dtype = torch_dtype(entry.spec.dtype)
    extent, pitch = _extent(graph, entry)
    count = min(pitch * calls, STRETCH_BYTES // dtype.itemsize) + WINDOWS
    numbers = _numbers(entry, entry.spec.dtype, count, seed, device)
    buffer = torch.zeros(pitch * calls, dtype=dtype, device=device)
    sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
    if strides is None:
        strides = torch.empty(sizes, device="meta").stride()
    storage = buffer.untyped_storage()
    tensors = tuple(
        # Not a view: what compiles for its inputs treats views of one base in ways of their own.
        torch.empty(0, dtype=dtype, device=device).set_(storage, number * pitch, sizes, strides)
        for number in range(calls)
    )
    random = Random(f"{seed} {entry.name}")  # noqa: S311 - the seed is the secret
    homes = tuple(random.randrange(WINDOWS) for _ in range(HOMES))
    return _Stretch(numbers, buffer, extent, pitch, homes, tensors)


def _numbers(entry: Input, dtype: str, count: int, seed: int, device: torch.device) -> torch.Tensor:
    """A stretch of values as the recipe draws them; written ones in any order, any number."""
    recipe = entry.recipe
    if not isinstance(recipe, Literal):
        return draw_range(recipe, 0, count, dtype, name=entry.name, seed=seed, device=device)
    once = draw_range(recipe, 0, len(recipe.values), dtype, name=entry.name, device=device)
    which = Integers(0, len(recipe.values) - 1)
    return once[draw_range(which, 0, count, "int64", name=entry.name, seed=seed, device=device)]
