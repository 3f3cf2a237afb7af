"""A store of records as a table in SQL: each result that counts, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from graph_net.store.parquet import check_columns
from graph_net.store.record_columns import SCHEMA
from graph_net.store.record_parts import read_part
from graph_net.store.record_upgrade import absent_columns
from graph_net.store.records import CountingFile, RecordStore
from graph_net.store.sql import Sql

_PER_BLOCK = """try_cast(regexp_extract(rest, '"per_block":([0-9]{1,4})', 1) AS BIGINT)"""
"""SQL for the column ``per_block``, for a part that lacks it."""


def create_records(sql: Sql, store: RecordStore, name: str = "records") -> None:
    """Create the table ``records``, or one called ``name``, which must be a plain word."""
    selects = []
    for number, (source, columns) in enumerate(_sources(store)):
        sql.register(f"{name}_source_{number}", source)
        selects.append(f"SELECT {columns} FROM {name}_source_{number}")  # noqa: S608 - fixed names
    sql.execute(f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(selects)}")


def _sources(store: RecordStore) -> Iterator[tuple[Any, str]]:
    """Yield sources for DuckDB with their columns; each key occurs once in all of them together.

    A part stays on disk unless it has a key twice or an early version wrote it.
    """
    whole: list[str] = []
    for stored in store.stored():
        absent = frozenset() if stored.journal is not None else absent_columns(stored.path)
        if stored.journal is not None or absent - {"per_block"}:
            yield stored.table(), "*"
            continue
        names = [name for name in SCHEMA.names if name not in absent]
        check_columns(stored.path, SCHEMA, names)
        if stored.rows is None and not absent:
            whole.append(str(stored.path))
            continue
        schema = pa.schema([SCHEMA.field(name) for name in names])
        yield _read_from_disk(stored, schema), f"*, {_PER_BLOCK} AS per_block" if absent else "*"
    yield ds.dataset(whole, schema=SCHEMA, format="parquet") if whole else SCHEMA.empty_table(), "*"


def _read_from_disk(stored: CountingFile, schema: pa.Schema) -> Any:
    """Return a part without the rows that do not count, read when a query needs it."""
    dataset = ds.dataset([str(stored.path)], schema=schema, format="parquet")
    if stored.rows is None:
        return dataset
    keys = read_part(stored.path, ["key"])["key"]
    counting = keys.take(pa.array(stored.rows))
    others = keys.filter(pc.invert(pc.is_in(keys, value_set=counting.combine_chunks())))
    if len(counting) + len(others) < len(keys):  # this part alone has a key twice
        return stored.table().select(schema.names)
    return dataset.filter(~ds.field("key").isin(others.combine_chunks()))
