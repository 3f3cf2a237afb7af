"""Parquet parts with a known schema, one per source file."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from graph_net.printable import first_line
from graph_net.results import RecordError
from graph_net.store.files import open_regular
from graph_net.store.parquet_guard import STORE, Guarded


def source_hash(source: Path) -> str:
    """Return the hash of a file's bytes, by which a store recognises it."""
    with open_regular(source) as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def arrow_source(parts: list[Path], schema: pa.Schema) -> Any:
    """Return Parquet files as an Arrow dataset, or an empty table; raise on other columns."""
    if not parts:
        return schema.empty_table()
    for part in parts:
        check_columns(part, schema, schema.names)
    Guarded(parts, schema, limits=STORE).check(schema.names, together=False)
    return ds.dataset([str(part) for part in parts], schema=schema, format="parquet")


def check_columns(part: Path, schema: pa.Schema, columns: Iterable[str]) -> None:
    """Raise RecordError unless a Parquet file has these columns with the types of a schema."""
    try:
        stored = pq.read_schema(part)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{part} is not a Parquet file: {first_line(error)}") from error
    for name in columns:
        indices = stored.get_all_field_indices(name)
        if len(indices) != 1:
            count = "no column" if not indices else f"{len(indices)} columns"
            raise RecordError(f"{part} is not a part of this store: it has {count} {name}")
        kind, wanted = stored.field(indices[0]).type, schema.field(name).type
        if kind != wanted:
            raise RecordError(f"{part} is damaged: its column {name} is {kind}, not {wanted}")
