"""Which of several results counts: the one that was stored last.

The order of a table is the order of storing: parts by their number, then journals by theirs. The
time that a record says it began is data of a clock that may be wrong, here or on the machine that
a file came from, so it decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]


def latest(table: pa.Table, keys: Sequence[str]) -> npt.NDArray[Any] | None:
    """Return which rows are the last of those with the same keys, in order; None for all."""
    count, key = 1, np.zeros(table.num_rows, dtype=np.int64)
    for name in keys:
        values, codes = coded(table[name])
        count, key = numbered(key * len(values) + codes)
    if count == len(key):
        return None
    last = np.zeros(count, dtype=np.int64)
    last[key] = np.arange(len(key))  # of equal keys numpy keeps the last
    found: npt.NDArray[Any] = np.sort(last)
    return found


def coded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct texts of a column, and which of them each row has; a null is an empty one."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode("encode")
    texts = [value or "" for value in encoded.dictionary.to_pylist()]
    return texts, np.asarray(encoded.indices, dtype=np.int64)


def numbered(codes: Ints) -> tuple[int, Ints]:
    """How many numbers occur, and the same numbers without gaps."""
    if not len(codes):
        return 0, codes
    if int(codes.max(initial=0)) > 8 * len(codes):
        present, places = np.unique(codes, return_inverse=True)
        return len(present), places
    places = np.cumsum(np.bincount(codes) > 0)  # where they are dense, quicker than a sort
    return int(places[-1]), places[codes] - 1
