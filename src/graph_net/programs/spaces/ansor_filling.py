"""DeviceFilling: how the programs of one task occupy a GPU, from their tiles."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from graph_net.programs.spaces import ansor_lanes as lanes
from graph_net.programs.spaces.ansor_operations import FLOAT_BYTES, Access, Operation
from graph_net.programs.spaces.ansor_tiles import READS, TOTALS, Table, Tiles
from graph_net.programs.spaces.gpus import Gpu

OVERHEAD = 24.0
"""Registers of a thread for addresses and counters (a guess)."""
MOST_REGISTERS = 255.0
ALLOCATED = 8
"""Registers of a thread are allocated in multiples of this."""


class DeviceFilling:
    """Intermediate numbers of many programs of a task on a GPU, from which features are made."""

    def __init__(self, operation: Operation, tiles: Tiles, gpu: Gpu) -> None:
        self.operation, self.tiles, self.gpu = operation, tiles, gpu
        self.space, self.sums = len(operation.space), len(operation.reduce)
        self.count = len(tiles.grid)
        self.total: dict[str, Table] = dict(zip(TOTALS, tiles.totals.T, strict=True))
        self.private = (tiles.vthread * tiles.outer * tiles.inner)[:, : self.space]
        """A thread's tile of the spatial axes."""
        self.block = self.private * tiles.thread[:, : self.space]
        self.chunk = (tiles.middle * tiles.chunk)[:, : self.sums]
        """The part of the summed axes that is in shared memory at once."""
        self.work = self.private.prod(axis=1)
        self.steps = tiles.steps[:, : self.sums].prod(axis=1)
        self.depth = self.chunk.prod(axis=1)
        self.warps = np.ceil(self.total["threads"] / gpu.warp)
        self.lanes = np.maximum(self.warps * gpu.warp, 1)

    def read(self, number: int) -> Access | None:
        """Return an input's access; None if unknown."""
        return self.operation.reads[number] if number < len(self.operation.reads) else None

    def footprint(self, number: int, space: Table, sums: Table) -> Table:
        """Return how many elements of an input a part of the axes reads."""
        read = self.read(number)
        if read is None:
            return np.zeros(len(space))
        return np.asarray(lanes.spans(read, np.hstack([space, sums])).prod(axis=1))

    def footprints(self, space: Table, sums: Table) -> Table:
        """Return how many elements of all inputs a part of the axes reads."""
        return np.asarray(np.sum([self.footprint(n, space, sums) for n in range(READS)], axis=0))

    @cached_property
    def shared(self) -> Table:
        """Elements of each input in a block's shared memory."""
        return np.stack([self._cached(number) for number in range(READS)], axis=1)

    def _cached(self, number: int) -> Table:
        is_cached = self.tiles.vector[:, number] > 0
        if self.read(number) is None:
            return self.tiles.fetched[:, number] * is_cached
        return self.footprint(number, self.block, self.chunk) * is_cached

    @cached_property
    def fragments(self) -> Table:
        """Elements of each input that a thread needs for one step of its sum."""
        once = np.ones_like(self.chunk)
        found = [self.footprint(number, self.private, once) for number in range(READS)]
        return np.stack(found, axis=1)

    @cached_property
    def needed(self) -> Table:
        """Registers that a thread would need to keep everything it computes."""
        return np.asarray(self.work + self.fragments.sum(axis=1) + OVERHEAD)

    @cached_property
    def registers(self) -> Table:
        """Registers that a thread is given."""
        return np.ceil(np.minimum(self.needed, MOST_REGISTERS) / ALLOCATED) * ALLOCATED

    @cached_property
    def resident(self) -> Table:
        """Blocks that a multiprocessor can hold; 0 if not even one fits."""
        gpu, shared = self.gpu, FLOAT_BYTES * self.shared.sum(axis=1)
        limits = (
            np.full(self.count, float(gpu.blocks)),
            np.floor(gpu.threads / self.lanes),
            np.floor(gpu.shared / np.maximum(shared, 1)),
            np.floor(gpu.registers / (self.lanes * self.registers)),
        )
        return np.asarray(np.minimum.reduce(limits))

    @cached_property
    def present(self) -> Table:
        """Blocks on a multiprocessor at once: at least one, at most its share of the grid."""
        rounds = np.ceil(self.total["blocks"] / self.gpu.sms)
        return np.minimum(np.maximum(self.resident, 1), rounds)

    @cached_property
    def waves(self) -> Table:
        """How often the device is filled with blocks, as a fraction."""
        return np.asarray(self.total["blocks"] / (self.gpu.sms * np.maximum(self.resident, 1)))

    @cached_property
    def rounds(self) -> Table:
        """Copies by all threads together that fill shared memory once, for each input."""
        at_once = np.maximum(self.tiles.vector, 1) * self.total["threads"][:, None]
        return np.ceil(self.shared / at_once)

    @cached_property
    def copies(self) -> Table:
        """Elements that a thread copies to fill shared memory once."""
        return np.asarray((self.rounds * np.maximum(self.tiles.vector, 1)).sum(axis=1))

    @cached_property
    def runs(self) -> Table:
        """Contiguous elements of each copied input."""
        found = np.ones((self.count, READS))
        for number, read in enumerate(self.operation.reads[:READS]):
            found[:, number] = lanes.runs(read, self._reach(read))
        return found

    @cached_property
    def sectors(self) -> Table:
        """Sectors that a warp's copy touches over the fewest possible, for each input."""
        found, vector = np.ones((self.count, READS)), np.maximum(self.tiles.vector, 1)
        for number, read in enumerate(self.operation.reads[:READS]):
            found[:, number] = lanes.load_sectors(
                read, self._reach(read), vector[:, number], self.total["threads"], self.gpu.warp
            )
        return found

    @cached_property
    def words(self) -> tuple[Table, Table]:
        """For each input: words that a warp reads from shared memory per lane, and their cycles."""
        words, cycles = np.ones((2, self.count, READS))
        for number, read in enumerate(self.operation.reads[:READS]):
            words[:, number], cycles[:, number] = lanes.shared_reads(
                read,
                self._reach(read),
                self.tiles,
                self.total["threads"],
                self.space,
                self.gpu.warp,
            )
        return words, cycles

    def _reach(self, read: Access) -> Table:
        return lanes.spans(read, np.hstack([self.block, self.chunk]))

    @cached_property
    def unique(self) -> Table:
        """Elements of the inputs that the blocks of one wave need, each counted once."""
        left = self.gpu.sms * np.maximum(self.resident, 1)
        covered = np.ones_like(self.block)
        for axis in reversed(range(self.space)):
            grid = self.tiles.grid[:, axis]
            covered[:, axis] = np.minimum(grid, left)
            left = np.ceil(left / grid)
        space = np.minimum(covered * self.block, np.array(self.operation.space, float))
        sums = np.broadcast_to(np.array(self.operation.reduce, float), (self.count, self.sums))
        return self.footprints(space, sums)
