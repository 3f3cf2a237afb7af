"""What the threads of a warp access at once: memory sectors and shared-memory words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.spaces.ansor_operations import Access
from graph_net.programs.spaces.ansor_tiles import Table, Tiles

SECTOR = 8
"""Elements per memory sector of 32 bytes."""
BANKS = 32
FARTHEST = float(1 << 45)
Whole = NDArray[np.int64]


def spans(read: Access, extents: Table) -> Table:
    """Return how many values each index of an input takes if axes have these extents."""
    reach = [
        1.0 + sum((step * (extents[:, axis] - 1) for axis, step in index), np.zeros(len(extents)))
        for index in read.indices
    ]
    return np.stack(reach, axis=1)


def runs(read: Access, reach: Table) -> Table:
    """Return how many elements of a box of an input are contiguous in memory."""
    run, whole = np.ones(len(reach)), np.ones(len(reach), bool)
    for place in reversed(range(len(read.shape))):
        size = np.minimum(reach[:, place], read.shape[place])
        run = np.where(whole, run * size, run)
        whole &= reach[:, place] >= read.shape[place]
    return run


def load_sectors(read: Access, reach: Table, vector: Table, threads: Table, warp: int) -> Table:
    """Return the sectors that a warp's first copy touches, over the fewest possible."""
    lane = np.arange(warp) % np.maximum(threads, 1)[:, None]
    flat = (lane * vector[:, None]) % np.maximum(reach.prod(axis=1), 1)[:, None]
    address = np.zeros_like(flat)
    for place in reversed(range(len(read.shape))):
        size = reach[:, place][:, None]
        address += (flat % size) * read.strides[place]
        flat = flat // size
    least = np.minimum(threads, warp) / SECTOR
    return _distinct(_whole(address // SECTOR)) / np.maximum(least, 1)


def shared_reads(
    read: Access, reach: Table, tiles: Tiles, threads: Table, space: int, warp: int
) -> tuple[Table, Table]:
    """Return the words that a warp reads at once per lane, and the cycles that takes."""
    start = _starts(tiles, threads, space, warp)
    address = np.zeros(start.shape[:2])
    stride = np.ones(len(reach))
    for place in reversed(range(len(read.shape))):
        for axis, step in read.indices[place]:
            if axis < space:
                address += step * start[:, :, axis] * stride[:, None]
        stride = stride * reach[:, place]
    words = _whole(address)
    return _distinct(words) / np.minimum(np.maximum(threads, 1), warp), _conflicts(words)


def store_sectors(space: tuple[int, ...], tiles: Tiles, threads: Table, warp: int) -> Table:
    """Return the sectors that a warp's first store touches, over the fewest possible."""
    start = _starts(tiles, threads, len(space), warp)
    address = np.zeros(start.shape[:2])
    stride = 1.0
    for axis in reversed(range(len(space))):
        address += start[:, :, axis] * stride
        stride *= space[axis]
    least = np.minimum(threads, warp) / SECTOR
    return _distinct(_whole(address // SECTOR)) / np.maximum(least, 1)


def _starts(tiles: Tiles, threads: Table, space: int, warp: int) -> Table:
    """Return where the tile of each lane of the first warp begins, on each axis."""
    lane: Table = np.arange(float(warp)) % np.maximum(threads, 1)[:, None]
    found = np.zeros((*lane.shape, space))
    for axis in reversed(range(space)):
        size = tiles.thread[:, axis][:, None]
        found[:, :, axis] = (lane % size) * (tiles.outer * tiles.inner)[:, axis][:, None]
        lane = lane // size
    return found


def _whole(address: Table) -> Whole:
    return np.minimum(address, FARTHEST).astype(np.int64)


def _distinct(values: Whole) -> Table:
    ordered = np.sort(values, axis=1)
    return np.asarray(1.0 + (np.diff(ordered, axis=1) != 0).sum(axis=1))


def _conflicts(words: Whole) -> Table:
    """Return the most words of one bank."""
    bank = words % BANKS
    order = np.argsort(bank * (1 << 50) + words, axis=1)
    bank, words = (np.take_along_axis(table, order, axis=1) for table in (bank, words))
    first = np.ones_like(words)
    first[:, 1:] = np.diff(words, axis=1) != 0
    counts = np.zeros((len(words), BANKS))
    np.add.at(counts, (np.arange(len(words))[:, None], bank), first)
    return np.asarray(counts.max(axis=1))
