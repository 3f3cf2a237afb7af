"""The tiles of a GPU schedule: what a block, a thread and a step of the sum process.

Ansor tiles a computation as blocks × virtual threads × threads × two inner levels of each spatial
axis, and three levels of each summed axis; inputs are copied to shared memory between the first and
the second of these three. Tiles are read from the loops after replay, not from the names of a
sketch rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.spaces.ansor_replay import (
    BLOCKS,
    THREADS,
    VECTORIZE,
    VTHREAD,
    AnsorStage,
    Replay,
)
from graph_net.programs.spaces.ansor_steps import steps_of
from graph_net.programs.spaces.space import SpaceError

SPACE, REDUCE, READS = 6, 4, 2
"""Most spatial axes, summed axes and inputs that are described."""
Table = NDArray[np.float64]


@dataclass(frozen=True)
class Tiles:
    """Tiles of many schedules: an array of (schedules, axes) for each level."""

    extent: Table
    """Extents of the spatial and the summed axes; 0 if no step gives it."""
    grid: Table
    vthread: Table
    thread: Table
    outer: Table
    """The two inner levels of a thread's tile."""
    inner: Table
    steps: Table
    """For summed axes: how often shared memory is filled, then the two levels within."""
    middle: Table
    chunk: Table
    vector: Table
    """For inputs: elements that a thread copies at once; 0 if the input is not cached."""
    fetched: Table
    """Elements copied as a step recorded them; later changes of the tile are not included."""
    totals: Table
    """The columns of TOTALS."""


TOTALS = ("blocks", "vthreads", "threads", "kernels", "unroll", "unrolled", "body", "rfactor")


def read_tiles(schedules: Sequence[str], stages: Sequence[int] = ()) -> Tiles:
    """Return the tiles of schedules; ``stages`` are the stages of the computation's inputs."""
    rows = [_row(Replay(steps_of(schedule)), stages) for schedule in schedules]
    table = np.array(rows, np.float64).reshape(len(rows), -1)
    widths = [SPACE + REDUCE, *[SPACE] * 5, *[REDUCE] * 3, READS, READS, len(TOTALS)]
    return Tiles(*np.split(table, np.cumsum(widths)[:-1], axis=1))


def _row(replay: Replay, stages: Sequence[int]) -> list[int]:
    """Return all numbers of one schedule, in the order of Tiles."""
    output = _output(replay)
    compute = _computed(replay, output)
    caches = [stage for stage in replay.stages if stage.target is compute and stage.scope]
    space = _axes(output) if compute is not output else _spatial(compute)
    if space > SPACE or compute.axes - space > REDUCE:
        raise SpaceError(f"a computation of more than {SPACE} spatial or {REDUCE} summed axes")
    fill = _place(compute, caches)
    return [
        *_extents(compute, space),
        *_tiles(output, compute, space),
        *_sums(compute, space, fill),
        *_caches(caches, stages),
        *_totals(replay, output, compute, fill),
    ]


def _output(replay: Replay) -> AnsorStage:
    """Return the stage whose loops are bound to blocks and inside which others are computed."""
    bound = [stage for stage in replay.stages if any(loop.bound in BLOCKS for loop in stage.loops)]
    if not bound:
        raise SpaceError("no loop is bound to blocks: not a schedule for a GPU")
    held = {id(stage.target) for stage in replay.stages}
    return max(bound, key=lambda stage: (id(stage) in held, stage.unroll))


def _computed(replay: Replay, output: AnsorStage) -> AnsorStage:
    """Return the stage that computes: the one in the output's threads, else the output."""
    inside = [
        stage for stage in replay.stages if stage.target is output and stage.scope != "shared"
    ]
    return max(inside, key=lambda stage: len(stage.loops), default=output)


def _axes(stage: AnsorStage) -> int:
    return 1 + max((part.axis for loop in stage.loops for part in loop.simple), default=-1)


def _spatial(stage: AnsorStage) -> int:
    """Return how many axes of a stage are bound to blocks; they precede the summed axes."""
    bound = [part.axis for loop in stage.loops if loop.bound in BLOCKS for part in loop.simple]
    return 1 + max(bound, default=-1)


def _place(compute: AnsorStage, caches: Sequence[AnsorStage]) -> int:
    """Return the loop of the computation in which shared memory is filled; -1 if none."""
    places = [
        place for place, loop in enumerate(compute.loops) if any(loop is c.at for c in caches)
    ]
    return max(places, default=-1)


def _extents(compute: AnsorStage, space: int) -> list[int]:
    found = [0] * (SPACE + REDUCE)
    for axis, extent in compute.whole.items():
        if axis >= 0:
            found[axis if axis < space else SPACE + axis - space] = extent
    return found


def _tiles(output: AnsorStage, compute: AnsorStage, space: int) -> list[int]:
    grid, vthread, thread, rest = ([1] * SPACE for _ in range(4))
    for loop in output.loops:
        kept = _level(loop.bound, grid, vthread, thread, rest)
        for part in loop.simple:
            if 0 <= part.axis < space:
                kept[part.axis] *= max(1, part.extent)
    inner = [1] * SPACE
    for loop in compute.loops:
        if 0 <= loop.axis < space:
            inner[loop.axis] = max(1, loop.extent)
    inner = [min(one, whole) for one, whole in zip(inner, rest, strict=True)]
    outer = [-(-whole // one) for one, whole in zip(inner, rest, strict=True)]
    return [*grid, *vthread, *thread, *outer, *inner]


def _level(
    bound: int, grid: list[int], vthread: list[int], thread: list[int], rest: list[int]
) -> list[int]:
    if bound in BLOCKS:
        return grid
    if bound in THREADS:
        return thread
    return vthread if bound == VTHREAD else rest


def _sums(compute: AnsorStage, space: int, fill: int) -> list[int]:
    steps, middle, chunk = ([1] * REDUCE for _ in range(3))
    for place, loop in enumerate(compute.loops):
        axis = loop.axis - space
        if axis < 0:
            continue
        if place <= fill:
            steps[axis] *= max(1, loop.extent)
        else:
            middle[axis] *= chunk[axis]
            chunk[axis] = max(1, loop.extent)
    return [*steps, *middle, *chunk]


def _caches(caches: Sequence[AnsorStage], stages: Sequence[int]) -> list[int]:
    vector, fetched = [0] * READS, [0] * READS
    for place, cache in enumerate(sorted(caches, key=lambda stage: stage.origin)):
        at = stages.index(cache.origin) if cache.origin in stages else place
        if at < READS:
            vector[at] = prod(loop.extent for loop in cache.loops if loop.bound == VECTORIZE)
            fetched[at] = prod(max(1, loop.extent) for loop in cache.loops)
    return [*vector, *fetched]


def _totals(replay: Replay, output: AnsorStage, compute: AnsorStage, fill: int) -> list[int]:
    blocks, threads, vthreads = (
        prod(max(1, loop.extent) for loop in output.loops if loop.bound in kind)
        for kind in (BLOCKS, THREADS, {VTHREAD})
    )
    inside = [loop for loop in compute.loops[fill + 1 :] if not loop.bound]
    unrolled = body = vthreads
    open_ = True
    for loop in reversed(inside):
        body *= max(1, loop.extent)
        open_ = open_ and body <= compute.unroll
        unrolled = body if open_ else unrolled
    kernels = sum(any(loop.bound in BLOCKS for loop in stage.loops) for stage in replay.stages)
    return [
        blocks, vthreads, threads, kernels, compute.unroll, unrolled, body, int(replay.factored),
    ]  # fmt: skip
