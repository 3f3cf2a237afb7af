"""What the stores of other people's files share: a file in, one Parquet file out, whole or not."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from graph_net.results import RecordError
from graph_net.store.files import open_regular
from graph_net.store.parquet_guard import STORE, Guarded


def source_hash(source: Path) -> str:
    """The hash of a file's bytes: by it a store knows what it has."""
    with open_regular(source) as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def arrow_source(parts: list[Path], schema: pa.Schema) -> Any:
    """Parquet files as an Arrow dataset, or an empty table; raises where one has other columns."""
    if not parts:
        return schema.empty_table()
    for part in parts:
        check_columns(part, schema, schema.names)
    Guarded(parts, schema, limits=STORE).check(schema.names, together=False)
    return ds.dataset([str(part) for part in parts], schema=schema, format="parquet")


def check_columns(part: Path, schema: pa.Schema, columns: Iterable[str]) -> None:
    """Raise RecordError unless a Parquet file has these columns with the types of a schema."""
    try:
        found = pq.read_schema(part)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{part} is no Parquet file: {first_line(error)}") from error
    for name in columns:
        places = found.get_all_field_indices(name)
        if len(places) != 1:
            count = "no column" if not places else f"{len(places)} columns"
            raise RecordError(f"{part} is no part of this store: it has {count} {name}")
        kind, wanted = found.field(places[0]).type, schema.field(name).type
        if kind != wanted:
            raise RecordError(f"{part} is damaged: its column {name} is {kind}, not {wanted}")


def first_line(error: BaseException) -> str:
    """What an error of a library says, on one line."""
    return (str(error).splitlines() or [type(error).__name__])[0]
