"""Replay Ansor's steps on loops alone: stages, their loops, bindings, and compute locations.

TVM no longer has auto_scheduler, and a record does not hold its graph. Replay needs neither: a loop
of a stage is created when a step first names it, with the extent that the step gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from graph_net.programs.spaces.ansor_operations import MOST_EXTENT
from graph_net.programs.spaces.space import SpaceError

MOST_STEPS, MOST_STAGES, MOST_LOOPS = 512, 128, 128
VECTORIZE, VTHREAD = 2, 4
BLOCKS, THREADS = frozenset((5, 7, 9)), frozenset((6, 8, 10))
"""Annotations: blockIdx and threadIdx of x, y, z."""
_UNROLL = "auto_unroll_max_step$"


class AnsorLoop:
    """A loop: its extent (0: unknown), its axis in the stage (-1: several), its binding.

    A fused loop holds the loops that it was fused from.
    """

    __slots__ = ("axis", "bound", "extent", "fused")

    def __init__(self, extent: int, axis: int, fused: tuple[AnsorLoop, ...] = ()) -> None:
        self.extent, self.axis, self.fused, self.bound = extent, axis, fused, 0

    @property
    def simple(self) -> tuple[AnsorLoop, ...]:
        """The loops that this loop was fused from, or itself."""
        return self.fused or (self,)


class AnsorStage:
    """A stage: its loops from outer to inner, and where it is computed."""

    __slots__ = ("at", "axes", "loops", "origin", "scope", "target", "unroll", "whole")

    def __init__(self, origin: int, scope: str = "") -> None:
        self.origin, self.scope = origin, scope
        """The stage of the computation that this stage came from; the memory scope of a cache."""
        self.loops: list[AnsorLoop] = []
        self.axes = 0
        self.unroll = 0
        self.whole: dict[int, int] = {}
        """Extents of the split axes, by axis."""
        self.target: AnsorStage | None = None
        self.at: AnsorLoop | None = None

    def loop(self, index: int) -> AnsorLoop:
        """Return a loop, creating it if no step has named it yet."""
        if type(index) is int and 0 <= index < len(self.loops):
            return self.loops[index]
        _check(index, MOST_LOOPS, "a loop")
        while len(self.loops) <= index:
            self.loops.append(AnsorLoop(0, self.axes))
            self.axes += 1
        return self.loops[index]

    def replace(self, index: int, loops: Sequence[AnsorLoop]) -> None:
        """Put several loops in the place of one."""
        if len(self.loops) + len(loops) > MOST_LOOPS:
            raise SpaceError(f"a stage of more than {MOST_LOOPS} loops")
        self.loops[index : index + 1] = loops


class Replay:
    """The stages of a schedule after all steps; SpaceError on steps that no search writes."""

    def __init__(self, steps: Sequence[list[Any]]) -> None:
        if len(steps) > MOST_STEPS:
            raise SpaceError(f"a schedule of more than {MOST_STEPS} steps")
        self.stages: list[AnsorStage] = []
        self.cut: dict[int, tuple[int, int, list[int]]] = {}
        """Splits by step number: the extent, the axis, the lengths."""
        self.count = 0
        self.factored = False
        for self.step, (kind, *values) in enumerate(steps):
            act = _ACTS.get(kind)
            if act is None:
                raise SpaceError(f"step {self.step} is of an unknown kind {kind[:20]!r}")
            try:
                act(self, *values)
            except (TypeError, ValueError) as error:
                raise SpaceError(f"step {self.step} ({kind}) cannot be replayed: {error}") from None

    def stage(self, number: int) -> AnsorStage:
        """Return a stage by its number at this step."""
        if type(number) is int and 0 <= number < len(self.stages):
            return self.stages[number]
        _check(number, MOST_STAGES, "a stage")
        while len(self.stages) <= number:
            self.stages.append(AnsorStage(self.count))
            self.count += 1
        return self.stages[number]

    def _split(self, number: int, index: int, extent: Any, lengths: Any, inner: Any) -> None:
        stage = self.stage(number)
        loop = stage.loop(index)
        sizes = [1 if length is None else length for length in lengths[:MOST_LOOPS]]
        for size in sizes:
            _check(size, MOST_EXTENT, "a length", 1)
        _checked_extent(prod(sizes))
        whole = loop.extent or _checked_extent(extent)
        self.cut[self.step] = (whole, loop.axis, sizes)
        stage.whole.setdefault(loop.axis, whole)
        stage.replace(index, _cut(whole, loop.axis, sizes, bool(inner)))

    def _follow(self, number: int, index: int, source: Any, count: Any) -> None:
        stage = self.stage(number)
        loop = stage.loop(index)
        whole, axis, sizes = self._source(source)
        _check(count, len(sizes), "a number of parts", 1)
        merged = [*sizes[: count - 1], prod(sizes[count - 1 :])]
        loop.axis = axis
        stage.replace(index, _cut(loop.extent or whole, axis, merged, True))

    def _follow_fused(self, number: int, index: int, sources: Any, level: Any, inner: Any) -> None:
        stage = self.stage(number)
        loop = stage.loop(index)
        size = 1
        for source in sources:
            sizes = self._source(source)[2]
            _check(level, len(sizes) - 1, "a level")
            size = _checked_extent(size * sizes[level])
        stage.replace(index, _cut(loop.extent, loop.axis, [size], bool(inner)))

    def _source(self, step: Any) -> tuple[int, int, list[int]]:
        if type(step) is not int or step not in self.cut:
            raise ValueError(f"step {str(step)[:20]} is not a split")
        return self.cut[step]

    def _fuse(self, number: int, places: Any) -> None:
        stage = self.stage(number)
        loops = [stage.loop(index) for index in places]
        first = places[0] if places else 0
        if list(places) != list(range(first, first + len(loops))) or not loops:
            raise ValueError("loops are fused with their neighbours")
        simple = tuple(part for loop in loops for part in loop.simple)
        extent = prod(loop.extent for loop in loops)
        if extent > MOST_EXTENT:
            raise ValueError(f"{extent:.3g} is too large an extent")
        stage.loops[first : first + len(loops)] = [AnsorLoop(extent, -1, simple)]

    def _reorder(self, number: int, order: Any) -> None:
        stage = self.stage(number)
        loops = [stage.loop(index) for index in order]
        if len(set(order)) != len(order) or len(order) != len(stage.loops):
            raise ValueError("an order names every loop once")
        stage.loops = loops

    def _annotate(self, number: int, index: int, binding: Any) -> None:
        _check(binding, 64, "an annotation")
        self.stage(number).loop(index).bound = binding

    def _pragma(self, number: int, index: int, text: Any) -> None:
        tail = text.removeprefix(_UNROLL) if isinstance(text, str) else ""
        if tail != text and tail.isascii() and tail.isdigit() and len(tail) < 10:
            self.stage(number).unroll = int(tail)

    def _compute_at(self, number: int, target: int, index: int) -> None:
        stage = self.stage(number)
        stage.target = self.stage(target)
        stage.at = stage.target.loop(index)

    def _compute_root(self, number: int) -> None:
        stage = self.stage(number)
        stage.target = stage.at = None

    def _compute_inline(self, number: int) -> None:
        self.stage(number)

    def _storage_align(self, number: int, *_: Any) -> None:
        self.stage(number)

    def _cache_write(self, number: int, scope: Any) -> None:
        self._insert(number, AnsorStage(self.stage(number).origin, str(scope)[:20]))

    def _cache_read(self, number: int, scope: Any, readers: Any) -> None:
        self._insert(number + 1, AnsorStage(self.stage(number).origin, str(scope)[:20]))

    def _factor(self, number: int, index: int, _: Any) -> None:
        self.factored = True
        self._insert(number, AnsorStage(self.stage(number).origin))

    def _insert(self, index: int, stage: AnsorStage) -> None:
        if len(self.stages) >= MOST_STAGES:
            raise ValueError(f"more than {MOST_STAGES} stages")
        self.stages.insert(index, stage)


_ACTS: dict[str, Callable[..., None]] = {
    "AN": Replay._annotate,
    "FU": Replay._fuse,
    "PR": Replay._pragma,
    "RE": Replay._reorder,
    "SP": Replay._split,
    "FSP": Replay._follow,
    "FFSP": Replay._follow_fused,
    "SA": Replay._storage_align,
    "CA": Replay._compute_at,
    "CI": Replay._compute_inline,
    "CR": Replay._compute_root,
    "CHR": Replay._cache_read,
    "CHW": Replay._cache_write,
    "RF": Replay._factor,
}


def _check(value: Any, most: int, what: str, least: int = 0) -> None:
    if type(value) is not int or not least <= value <= most:
        raise SpaceError(f"{str(value)[:20]} is not {what}")


def _checked_extent(value: Any) -> int:
    _check(value, MOST_EXTENT, "an extent", 1)
    return int(value)


def _cut(whole: int, axis: int, sizes: list[int], inner: bool) -> list[AnsorLoop]:
    """Return the loops of a split; sizes are those of the inner loops, or of the outer ones."""
    rest = -(-whole // max(1, prod(sizes))) if whole else 0
    extents = [rest, *sizes] if inner else [*sizes, rest]
    return [AnsorLoop(extent, axis) for extent in extents]
