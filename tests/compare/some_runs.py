"""Records with blocks, for the tests of comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_net.results import Interval, Record, Samples, Timing, Verdict
from graph_net.store.records import RecordStore
from score.some_samples import record

BLOCKS = 12


def blocks(speedup: float, seed: int = 0, spread: float = 0.005, count: int = BLOCKS) -> Any:
    """Block log-speedups around a speedup."""
    return np.random.default_rng(seed).normal(np.log(speedup), spread, count)


def timing(
    logs: npt.NDArray[np.float64], noise: float = 1.0, seconds: float = 1e-3, per_block: int = 4
) -> Timing:
    """A timing whose blocks have these log-speedups; ``noise`` is how far eager is from itself."""
    eager = np.full(len(logs) * per_block, seconds)
    eager[1::per_block] *= 1.5  # what disturbs a sample only adds to it
    candidate = np.repeat(seconds / np.exp(logs), per_block)
    first, second = (Samples(tuple(arm.tolist())) for arm in (eager, candidate))
    low, value, high = (float(np.exp(f(logs))) for f in (np.min, np.median, np.max))
    return Timing(
        first,
        first,
        second,
        speedup=Interval(value, low, high),
        noise=Interval(1.0, 1 / noise, noise),
        verdict=Verdict.SAME,
        per_block=per_block,
    )


def timed(
    name: str,
    speedup: float = 2.0,
    seed: int = 0,
    noise: float = 1.0,
    seconds: float = 1e-3,
    **changes: Any,
) -> Record:
    """A success with blocks around a speedup."""
    made = timing(blocks(speedup, seed), noise, seconds)
    return record(name, **{"timing": made, **changes})


def stored(path: Path, records: Iterable[Record], compact: bool = True) -> Path:
    """A store of these records."""
    store = RecordStore(path)
    with store.journal() as journal:
        for each in records:
            journal.add(each)
    if compact:
        store.compact()
    return path
