"""Stored samples as block log-ratios, column by column, as `measure` computes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graph_net.compare.ranks import Ragged
from graph_net.score.samples import Floats, Ints

ARMS = ("eager_wall", "control_wall", "candidate_wall")


def block_logs(table: pa.Table) -> Ragged:
    """Return the log-speedups of each row's blocks; none for a row not timed in whole blocks.

    An arm's value in a block is its quickest sample, and the candidate is compared with both eager
    arms, as when the record was made.
    """
    per_block = np.asarray(pc.fill_null(table["per_block"], 0), np.int64)
    lengths = np.stack([_lengths(table[arm]) for arm in ARMS])
    size = lengths[0]
    whole = (per_block > 0) & (size > 0) & (lengths == size).all(axis=0)
    whole &= size % np.maximum(per_block, 1) == 0
    counts = np.where(whole, size // np.maximum(per_block, 1), 0)
    blocks = Ragged(np.zeros(int(counts.sum())), counts)
    for samples in np.unique(per_block[whole]):
        rows = np.flatnonzero(whole & (per_block == samples))
        logs = _logs(table.take(pa.array(rows)), int(samples))
        ends = np.cumsum(counts[rows])
        within = np.arange(len(logs)) - np.repeat(ends - counts[rows], counts[rows])
        blocks.values[np.repeat(blocks.offsets[rows], counts[rows]) + within] = logs
    return _drop_non_finite(blocks)


def _logs(table: pa.Table, samples: int) -> Floats:
    quickest = (_flat(table[arm]).reshape(-1, samples).min(axis=1) for arm in ARMS)
    with np.errstate(all="ignore"):
        eager, control, candidate = map(np.log, quickest)
    return np.asarray((eager + control) / 2 - candidate, np.float64)


def _flat(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    return np.asarray(column.combine_chunks().flatten(), np.float64)


def _lengths(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(column), 0), np.int64)


def _drop_non_finite(blocks: Ragged) -> Ragged:
    """Return the blocks without rows that hold a value no measurement gives."""
    bad = ~np.isfinite(blocks.values)
    if not bad.any():
        return blocks
    row = np.repeat(np.arange(len(blocks.counts)), blocks.counts)
    spoiled = np.bincount(row[bad], minlength=len(blocks.counts)) > 0
    counts = np.where(spoiled, 0, blocks.counts)
    return Ragged(blocks.values[~spoiled[row]], counts)
