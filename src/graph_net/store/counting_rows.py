"""The rows of a table of records that count, as ``counting`` defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from graph_net.store.counting import KEY

Ints = npt.NDArray[np.int64]


def counting_rows(table: pa.Table) -> Ints | None:
    """Return the numbers of the rows that count, for a table in storage order; None means all."""
    return last_rows(table, KEY)


def last_rows(table: pa.Table, keys: Sequence[str]) -> Ints | None:
    """Return the numbers of the rows that are last with their keys, in order; None means all."""
    count, key = 1, np.zeros(table.num_rows, dtype=np.int64)
    for name in keys:
        values, codes = encode_texts(table[name])
        count, key = renumber(key * len(values) + codes)
    if count == len(key):
        return None
    last = np.zeros(count, dtype=np.int64)
    last[key] = np.arange(len(key))  # for equal keys numpy stores the last
    return np.asarray(np.sort(last))


def encode_texts(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """Return the distinct texts of a column, and the index of each row's; null is empty."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode("encode")
    texts = [value or "" for value in encoded.dictionary.to_pylist()]
    codes = np.asarray(encoded.indices, dtype=np.int64)
    if encoded.dictionary.null_count and texts.count("") > 1:
        codes = np.array([texts.index(text) for text in texts])[codes]
    return texts, codes


def renumber(codes: Ints) -> tuple[int, Ints]:
    """Return how many distinct numbers occur, and the numbers without gaps."""
    if not len(codes):
        return 0, codes
    if int(codes.max(initial=0)) > 8 * len(codes):
        present, dense = np.unique(codes, return_inverse=True)
        return len(present), dense
    ranks = np.cumsum(np.bincount(codes) > 0)  # for dense numbers, faster than a sort
    return int(ranks[-1]), ranks[codes] - 1
