"""A CPU schedule of MetaSchedule as the loops it makes: tiles, vectors, threads, working sets.

A trace says how each loop of the tiled block is split, in which order the parts stand, and, behind
``EnterPostproc``, which of them run on threads, as vectors or unrolled. From that follow the sizes
of what each level of loops touches, without TVM: one row of numbers for a program.

Which spatial loops index which operand is not in a trace; it is told by how many loops of
each kind there are (a matrix product has two and one, a convolution four and three).
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.spaces.loop_nest import (
    COUNTS,
    SPATIAL_PARTS,
    SUM_PARTS,
    Drawn,
    LoopNest,
    ScheduledBlock,
    read_nest,
)
from graph_net.programs.spaces.magnitudes import Floats, number
from graph_net.programs.spaces.space import SpaceError

Columns = NDArray[np.float64]
"""Programs × something."""
AXES, SUMS = 4, 3
"""Loops that have columns of their own: spatial ones from the innermost out, those of sums."""
WIDEST = 16
"""Single-precision numbers of the widest vector."""
CONSUMERS, LOCATIONS, BLOCKS = 2, 4, 4
"""Consumers, drawn locations and scheduled blocks that have columns of their own."""
NAMES = ("depthwise", "conv", "matmul", "pad")
"""Words in the names of blocks that tell what is computed."""
LEVELS = ((3, 1), (2, 1), (2, 0), (1, 0), (0, 0))
"""Levels of working sets, from the inside out: the outermost part of spatial loops, of sums."""
MOST = 60.0
"""The greatest logarithm of a number of iterations; a real nest has half of that."""
TEMPLATES = 4096
"""Kept at most; all are dropped when there are more."""
COLUMNS = (
    *(f"axis{axis}_part{part}" for axis in range(AXES) for part in range(SPATIAL_PARTS)),
    *(f"axis{axis}_{what}" for axis in range(AXES) for what in ("from2", "from1", "all")),
    *(f"sum{axis}_part{part}" for axis in range(SUMS) for part in range(SUM_PARTS)),
    *(f"sum{axis}_all" for axis in range(SUMS)),
    *(f"spatial_part{part}" for part in range(SPATIAL_PARTS)),
    *(f"sum_part{part}" for part in range(SUM_PARTS)),
    *("spatial_from2", "spatial_from1", "inner_work", "work_from2", "work_from1"),
    *("spatial_all", "sum_all", "work_all", "contiguous"),
    *(f"innermost_part{part}" for part in range(1, SPATIAL_PARTS)),
    *("width", "width_of_16", "width_of_8", "vector_blocks", "parallel_blocks"),
    *("vector_loops", "vector", "vector_of_16", "vector_of_8", "vector_filled"),
    *("parallel_loops", "parallel", "imbalance"),
    *("unroll_limit", "unrolled", "unrolled_loops", "accumulators", "unrolled_sum"),
    *(f"{what}_level{level}" for level in range(len(LEVELS))
      for what in ("left", "right", "result", "touched", "intensity")),
    *("left_inner", "right_inner", "loads"),
    *(f"consumer{place}_{what}" for what in ("at", "inside") for place in range(CONSUMERS)),
    *COUNTS,
    *(f"location{place}" for place in range(LOCATIONS)),
    *(f"block{place}_{what}" for place in range(BLOCKS)
      for what in ("loops", "parallel", "vector")),
    *(f"is_{name}" for name in NAMES),
)  # fmt: skip


class LoopTileEncoder:
    """Turns traces into rows of ``COLUMNS``; traces with the same instructions at once."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self._nests: dict[bytes, LoopNest] = {}

    def encode(self, schedules: Sequence[str]) -> Floats:
        """Return a row for each schedule; SpaceError where one is no trace."""
        groups: dict[int, tuple[LoopNest, list[int], list[Mapping[int, Any]]]] = {}
        for place, schedule in enumerate(schedules):
            nest, decisions = self._read(schedule)
            _, places, decided = groups.setdefault(id(nest), (nest, [], []))
            places.append(place)
            decided.append(decisions)
        rows = np.zeros((len(schedules), len(COLUMNS)), np.float32)
        for nest, places, decided in groups.values():
            rows[places] = _Numbers(nest, decided, self.cores).rows()
        return rows

    def _read(self, schedule: str) -> tuple[LoopNest, Mapping[int, Any]]:
        try:
            instructions, decisions = json.loads(schedule)
            # The second format has no references to equal objects: equal lists, equal bytes.
            key = marshal.dumps(instructions, 2)
            nest = self._nests.get(key)
            if nest is None:
                nest = read_nest(instructions)
                if len(self._nests) >= TEMPLATES:
                    self._nests.clear()
                self._nests[key] = nest
            return nest, {int(index): drawn for index, drawn in decisions}
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            raise SpaceError(f"not a trace of MetaSchedule: {error}") from error


class _Numbers:
    """The rows of programs that have one nest; sizes are logarithms, so products are sums."""

    def __init__(self, nest: LoopNest, decided: list[Mapping[int, Any]], cores: int) -> None:
        self.nest, self.decided, self.cores = nest, decided, cores
        self.spatial = self._logarithms(nest.spatial, SPATIAL_PARTS)
        self.sums = self._logarithms(nest.sums, SUM_PARTS)
        self.order = _log2(self._table(nest.order))
        self.unroll = self._table([nest.unroll])[:, 0]

    def rows(self) -> Columns:
        return np.hstack(
            [
                self._tiles(),
                *self._marks(),
                self._working_sets(),
                self._places(),
                self._constants([self.nest.counts[name] for name in COUNTS]),
                self._locations(),
                self._constants(self._blocks()),
                self._constants([float(name in self.nest.names) for name in NAMES]),
            ]
        )

    def _table(self, drawn: Sequence[Drawn]) -> Columns:
        """Return numbers of each program as columns."""
        rows = [[self._value(one, decisions) for one in drawn] for decisions in self.decided]
        return np.array(rows, np.float64).reshape(len(self.decided), len(drawn))

    def _value(self, drawn: Drawn, decisions: Mapping[int, Any]) -> float:
        if drawn.instruction < 0:
            return drawn.constant
        value = decisions.get(drawn.instruction)
        choices = self.nest.choices.get(drawn.instruction)
        if choices is not None:
            known = isinstance(value, int) and 0 <= value < len(choices)
            value = choices[value] if known else None  # type: ignore[index]
        if isinstance(value, list):
            value = value[drawn.item] if drawn.item < len(value) else None
        return number(value)

    def _logarithms(self, loops: list[list[Drawn]], parts: int) -> NDArray[np.float64]:
        """Return programs × loops × parts."""
        table = self._table([part for loop in loops for part in loop])
        return _log2(table).reshape(len(self.decided), len(loops), parts)

    def _constants(self, values: Sequence[float]) -> Columns:
        return np.tile(np.array(values, np.float64), (len(self.decided), 1))

    def _tiles(self) -> Columns:
        count = len(self.decided)
        own = np.zeros((count, AXES, SPATIAL_PARTS))
        inside = self.spatial[:, ::-1][:, :AXES]
        own[:, : inside.shape[1]] = inside
        sums = np.zeros((count, SUMS, SUM_PARTS))
        sums[:, : min(SUMS, self.sums.shape[1])] = self.sums[:, :SUMS]
        inward = own[:, :, ::-1].cumsum(axis=2)[:, :, 1:]  # from2, from1, all of each axis
        spatial, summed = self.spatial.sum(axis=1), self.sums.sum(axis=1)
        two, three = spatial[:, 2:].sum(axis=1), spatial[:, 1:].sum(axis=1)
        every = spatial.sum(axis=1), summed.sum(axis=1)
        derived = (
            two,
            three,
            spatial[:, 3] + summed[:, 1],
            two + summed[:, 1],
            three + summed[:, 1],
            *every,
            every[0] + every[1],
            _contiguous(own),
        )
        return np.hstack(
            [
                own.reshape(count, -1),
                inward.reshape(count, -1),
                sums.reshape(count, -1),
                sums.sum(axis=2),
                spatial,
                summed,
                np.stack(derived, axis=1),
                _innermost(own)[:, 1:],
            ]
        )

    def _marks(self) -> list[Columns]:
        """Return what runs as vectors, on threads, unrolled."""
        nest, tiled, count = self.nest, self.nest.tiled, len(self.decided)
        loops = self.order.shape[1]
        vector = _product(self.order[:, max(0, loops - tiled.vector) :])
        lanes = np.round(2**vector)
        parallel = _product(self.order[:, : tiled.parallel])
        threads = np.round(2**parallel)
        width = 2 ** self.spatial[:, -1, -1] if nest.spatial else np.zeros(count)
        rolled = self.order[:, : max(0, loops - tiled.vector)][:, ::-1]
        depth = _unrolled_loops(rolled, self.unroll)
        unrolled = np.where(np.arange(rolled.shape[1]) < depth[:, None], rolled, 0).sum(axis=1)
        blocks = [sum(block.vector > 0 for block in nest.blocks)]
        blocks += [sum(block.parallel > 0 for block in nest.blocks)]
        inner = self.spatial[:, :, -1].sum(axis=1)
        return [
            np.stack([width, _divides(16, width), _divides(8, width)], axis=1),
            self._constants([float(number_of) for number_of in (*blocks, tiled.vector)]),
            np.stack([vector, _divides(16, lanes), _divides(8, lanes)], axis=1),
            (lanes / (WIDEST * np.ceil(lanes / WIDEST)))[:, None],
            self._constants([float(tiled.parallel)]),
            np.stack(
                [
                    parallel,
                    np.ceil(threads / self.cores) * self.cores / threads,
                    _log2(self.unroll),
                    unrolled,
                    depth,
                    inner - vector,
                    unrolled - inner + vector,
                ],
                axis=1,
            ),
        ]

    def _working_sets(self) -> Columns:
        """Return the logarithms of what a level of loops touches, and its operations for each."""
        left, right = self.nest.operands()
        columns = []
        for outermost, of_sum in LEVELS:
            inside = self.spatial[:, :, outermost:].sum(axis=2)
            summed = self.sums[:, :, of_sum:].sum(axis=(1, 2))
            sizes = [inside[:, left].sum(axis=1) + summed, inside[:, right].sum(axis=1) + summed]
            result = inside.sum(axis=1)
            touched = np.logaddexp2(sizes[0], result)
            if right:
                touched = np.logaddexp2(touched, sizes[1])
            columns += [*sizes, result, touched, result + summed - touched]
        inner = self.spatial[:, :, -1]
        reuse = inner[:, left].sum(axis=1), inner[:, right].sum(axis=1)
        return np.stack([*columns, *reuse, 2.0 ** -reuse[0] + 2.0 ** -reuse[1]], axis=1)

    def _places(self) -> Columns:
        """Return where consumers are computed, and how much of the nest is inside of that."""
        places = [*self.nest.consumers, *[-2] * CONSUMERS][:CONSUMERS]
        inside = [
            self.order[:, place + 1 :].sum(axis=1) if place >= 0 else np.zeros(len(self.decided))
            for place in places
        ]
        return np.hstack([self._constants([float(p) for p in places]), np.stack(inside, axis=1)])

    def _locations(self) -> Columns:
        absent = [Drawn(constant=-3.0)] * LOCATIONS
        return self._table([*self.nest.locations, *absent][:LOCATIONS])

    def _blocks(self) -> list[float]:
        """Return how many loops of each block there are, on threads, as vectors."""
        blocks = [*self.nest.blocks, *[ScheduledBlock([])] * BLOCKS][:BLOCKS]
        counts = [(len(block.loops), block.parallel, block.vector) for block in blocks]
        return [float(count) for block in counts for count in block]


def _contiguous(own: NDArray[np.float64]) -> Columns:
    """Return the logarithm of the numbers in a row of the innermost tile of the result."""
    whole = own[:, 0, :-1].sum(axis=1) == 0  # the tile has all of the innermost loop
    return own[:, 0, -1] + np.where(whole, own[:, 1, -1], 0.0)


def _innermost(own: NDArray[np.float64]) -> Columns:
    """Return which loop is the innermost of each part that runs more than once; 9: none."""
    runs = own > 0
    return np.where(runs.any(axis=1), runs.argmax(axis=1), 9).astype(np.float64)


def _log2(values: Columns) -> Columns:
    return np.asarray(np.log2(np.maximum(values, 1.0)))


def _product(logarithms: Columns) -> Columns:
    """Return the logarithm of the product of each row."""
    return np.asarray(np.minimum(logarithms.sum(axis=1), MOST))


def _divides(divisor: int, values: Columns) -> Columns:
    return np.asarray((values > 0) & (np.round(values) % divisor == 0), np.float64)


def _unrolled_loops(inside_out: Columns, limit: Columns) -> NDArray[np.int64]:
    """Return how many loops are unrolled: their product, from the inside, is within the limit."""
    within = inside_out.cumsum(axis=1) <= np.log2(np.maximum(limit, 0) + 0.5)[:, None]
    return np.where(limit > 0, within.cumprod(axis=1).sum(axis=1), 0).astype(np.int64)
