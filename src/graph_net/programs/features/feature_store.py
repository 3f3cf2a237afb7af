"""Features on disk: immutable Parquet parts in a directory, by kind and version.

A row is identified by its keys, which are hashes. An item whose features could not be computed has
a row too, with the reason, and is not tried again unless asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graph_net.programs.features.failures import Lost
from graph_net.programs.features.feature_kinds import FeatureColumn, FeatureKind
from graph_net.store.atomic import open_atomic
from graph_net.store.files import list_regular
from graph_net.store.parquet_guard import STORE, Guarded

Uint64s = NDArray[np.uint64]
Row = tuple[tuple[Any, ...], Sequence[NDArray[Any]] | Lost]
"""The keys of a row in order, and one array per column or the reason for having none."""
LEVEL = 6
RECENT = 1 << 20


class FeatureStore:
    """The features in a directory."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self, kind: FeatureKind) -> list[Path]:
        """Return the files of a kind's current version; raise ParquetError if one is malformed."""
        parts = list_regular(self.path, f"{kind.prefix}*.parquet")
        Guarded(parts, kind.schema, limits=STORE)
        return parts

    def known(self, kind: FeatureKind, retry: bool = False) -> HashSet:
        """Return the keys of all rows; with ``retry``, only of rows that have features."""
        keys_seen = HashSet()
        for keys, reasons in self._keys(kind):
            keys_seen.add(keys[reasons.is_null()] if retry else keys)
        return keys_seen

    def keys(self, kind: FeatureKind) -> Uint64s:
        """Return the keys of all rows."""
        parts = [keys for keys, _ in self._keys(kind)]
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)

    def _keys(self, kind: FeatureKind) -> Iterator[tuple[Uint64s, pa.ChunkedArray]]:
        """Yield the keys of each part's rows, hashed to one number per row, and their reasons."""
        for part in self.parts(kind):
            table = pq.read_table(part, columns=[*kind.keys, "reason"])
            yield hashes(kind, [table[key] for key in kind.keys]), table["reason"]

    def add(self, kind: FeatureKind, rows: Sequence[Row]) -> None:
        """Write rows as one part, atomically."""
        if not rows:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        table = _table(kind, rows)
        keys = hashes(kind, [table[key] for key in kind.keys])
        name = blake2b(keys.tobytes(), digest_size=12).hexdigest()
        with open_atomic(self.path / f"{kind.prefix}{name}.parquet") as file:
            pq.write_table(table, file, compression="zstd", compression_level=LEVEL)

    def batches(self, kind: FeatureKind, rows: int = 4096) -> Iterator[pa.RecordBatch]:
        """Yield all rows that have features, in batches."""
        for part in self.parts(kind):
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(rows):
                    yield batch.filter(pc.is_null(batch["reason"]))

    def count(self, kind: FeatureKind) -> int:
        """Return how many rows have features."""
        reasons = (pq.read_table(part, columns=["reason"])["reason"] for part in self.parts(kind))
        return sum(reason.null_count for reason in reasons)

    def lost(self, kind: FeatureKind) -> Counter[str]:
        """Count items without features by reason, excluding those that a later try computed."""
        failed: dict[int, str] = {}
        for keys, reasons in self._keys(kind):
            pairs = zip(keys.tolist(), reasons.to_pylist(), strict=True)
            failed |= {key: reason for key, reason in pairs if reason is not None}
        if failed:
            tried = np.fromiter(failed, np.uint64, len(failed))
            for keys, reasons in self._keys(kind):
                for key in keys[np.isin(keys, tried) & reasons.is_null()].tolist():
                    failed.pop(key, None)
        return Counter(failed.values())


class HashSet:
    """A set of 8-byte hashes; new ones are buffered and merged now and then."""

    def __init__(self) -> None:
        self._sorted: Uint64s = np.empty(0, np.uint64)
        self._recent: set[int] = set()

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def add(self, keys: Uint64s) -> None:
        """Add keys; some may be present already."""
        self._recent.update(keys[~self._has_sorted(keys)].tolist())
        if len(self._recent) > RECENT:
            recent = np.fromiter(self._recent, np.uint64, len(self._recent))
            self._sorted = np.union1d(self._sorted, recent)
            self._recent = set()

    def has(self, keys: Uint64s) -> NDArray[np.bool_]:
        """Return which of the keys are in the set."""
        recent = np.fromiter((key in self._recent for key in keys.tolist()), bool, len(keys))
        return np.asarray(self._has_sorted(keys) | recent)

    def _has_sorted(self, keys: Uint64s) -> NDArray[np.bool_]:
        if not len(self._sorted):
            return np.zeros(len(keys), bool)
        places = np.searchsorted(self._sorted, keys).clip(max=len(self._sorted) - 1)
        return np.asarray(self._sorted[places] == keys)


def hashes(kind: FeatureKind, columns: Sequence[Any]) -> Uint64s:
    """Return one number for each row, combined from its keys, which are hashes."""
    combined = np.zeros(len(columns[0]), np.uint64)
    for name, column in zip(kind.keys, columns, strict=True):
        if name == "program":
            combined ^= np.asarray(column).astype(np.uint64, copy=False)
            continue
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
        words = [_hash(text) for text in coded.dictionary.to_pylist()]
        combined ^= np.array(words, np.uint64)[np.asarray(coded.indices)]
    return combined


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _table(kind: FeatureKind, rows: Sequence[Row]) -> pa.Table:
    schema = kind.schema
    columns = [
        pa.array([keys[position] for keys, _ in rows], schema.field(key).type)
        for position, key in enumerate(kind.keys)
    ]
    for position, column in enumerate(kind.columns):
        arrays = [
            None if isinstance(features, Lost) else features[position] for _, features in rows
        ]
        columns.append(_column(column, arrays))
    reasons = [features.reason if isinstance(features, Lost) else None for _, features in rows]
    return pa.Table.from_arrays([*columns, pa.array(reasons, pa.string())], schema=schema)


def _column(column: FeatureColumn, arrays: Sequence[NDArray[Any] | None]) -> pa.Array:
    """Return arrays as a column of fixed-size lists, or of lists of those; None becomes null."""
    kept = [array.reshape(-1, column.width) for array in arrays if array is not None]
    type = column.type.to_pandas_dtype()
    flat = np.concatenate(kept) if kept else np.empty((0, column.width))
    missing = np.array([array is None for array in arrays])
    inner = column.field.type.value_type if column.ragged else column.field.type
    if column.ragged:
        counts = np.zeros(len(arrays), np.int32)
        counts[~missing] = [len(array) for array in kept]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        lists = pa.FixedSizeListArray.from_arrays(_flat(flat, type), type=inner)
        return pa.ListArray.from_arrays(pa.array(offsets), lists, mask=pa.array(missing))
    full = np.zeros((len(arrays), column.width), type)
    full[~missing] = flat
    return pa.FixedSizeListArray.from_arrays(_flat(full, type), type=inner, mask=pa.array(missing))


def _flat(array: NDArray[Any], type: Any) -> pa.Array:
    return pa.array(np.ascontiguousarray(array, type).reshape(-1))


def arrays_of(column: FeatureColumn, values: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return a stored column as one array, and the offsets of the rows in it."""
    if not column.ragged:
        flat = np.asarray(values.flatten()).reshape(-1, *column.shape)
        return flat, np.arange(len(flat) + 1)
    inner = values.flatten()
    offsets = np.asarray(values.offsets).astype(np.int64)
    return np.asarray(inner.flatten()).reshape(-1, *column.shape), offsets - offsets[0]
