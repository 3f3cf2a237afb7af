"""Parts and journals of records as tables, in the order of storing, with checked columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from graph_net.printable import first_line
from graph_net.results import Record, RecordError
from graph_net.results.limits import MOST_BYTES
from graph_net.results.timing import LARGEST, SMALLEST
from graph_net.store.parquet import check_columns
from graph_net.store.record_columns import BYTES, SCHEMA, WHOLE, row_of, summary_of
from graph_net.store.record_upgrade import NEEDED, absent_columns, upgrade_table

PARQUET = ".parquet"
BATCH = 4096
"""Records in memory at a time."""
_RATIOS = [f"{name}{end}" for name in ("speedup", "noise") for end in ("", "_low", "_high")]
_BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys([*_RATIOS, "eager_seconds", "candidate_seconds"], (SMALLEST, LARGEST)),
    **dict.fromkeys(["cold_seconds", "warm_seconds", "cpu_seconds"], (-LARGEST, LARGEST)),
    **dict.fromkeys(BYTES, (-MOST_BYTES, MOST_BYTES)),
}
_PART = re.compile(r"part-(\d{1,18})\.parquet", re.ASCII)
_JOURNAL = re.compile(r"run-n(\d{1,18})-.*", re.ASCII)


def number_of_part(path: Path) -> int:
    """Return the number of a part; raise RecordError unless its name has one."""
    match = _PART.fullmatch(path.name)
    if match is None:
        raise RecordError(f"{path} is not named part-NUMBER{PARQUET}; rename it, or move it away")
    return int(match[1])


def order_of_journal(path: Path) -> tuple[int, str]:
    """Return the sort key of a journal; names with a time and no number come first."""
    match = _JOURNAL.fullmatch(path.name)
    return (int(match[1]) if match else 0, path.name)


def read_part(part: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return these columns of a part; raise RecordError if it holds anything else."""
    wanted = SCHEMA.names if columns is None else list(columns)
    return pa.concat_tables(part_batches(part, wanted, None))


def part_batches(part: Path, wanted: list[str], size: int | None) -> Iterator[pa.Table]:
    """Yield the table of a part, ``size`` rows at a time (None: all), in current columns."""
    absent = absent_columns(part)
    held = [*dict.fromkeys([*wanted, *NEEDED])] if absent else wanted
    held = [name for name in held if name not in absent]
    check_columns(part, SCHEMA, held)
    try:
        file = pq.ParquetFile(part)
        if size is None:
            tables = iter([file.read(columns=held)])
        else:
            batches = file.iter_batches(size, columns=held)
            tables = (pa.Table.from_batches([batch]) for batch in batches)
        for table in tables:
            current = upgrade_table(table, wanted, absent) if absent else table
            yield _bound(current.select(wanted))
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{part} cannot be read: {first_line(error)}") from error


def _bound(table: pa.Table) -> pa.Table:
    """Replace numbers that no record can have by null: stored columns may hold anything."""
    for index, name in enumerate(table.column_names):
        if name in _BOUNDS:
            column, (least, most) = table[name], _BOUNDS[name]
            valid = pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most))
            if not pc.all(valid).as_py():
                null = pa.scalar(None, column.type)
                table = table.set_column(index, table.field(name), pc.if_else(valid, column, null))
    return table


def tables_of(
    records: Iterable[Record], columns: Sequence[str], size: int = BATCH
) -> Iterator[pa.Table]:
    """Yield records as tables of these columns, ``size`` rows at a time, at least one table."""
    schema = pa.schema([SCHEMA.field(name) for name in columns], SCHEMA.metadata)
    make = summary_of if WHOLE.isdisjoint(columns) else row_of
    waiting = iter(records)
    rows = [make(record) for record in islice(waiting, size)]
    yield _table_of(rows, schema)
    while rows := [make(record) for record in islice(waiting, size)]:
        yield _table_of(rows, schema)


def _table_of(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table; lists are concatenated here, which is faster than by Arrow."""
    arrays = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        arrays.append(
            _lists(values) if pa.types.is_list(field.type) else pa.array(values, field.type)
        )
    return pa.Table.from_arrays(arrays, schema=schema)


def _lists(values: list[Any]) -> pa.ListArray:
    lengths = [0 if value is None else len(value) for value in values]
    flat = np.fromiter(chain.from_iterable(value or () for value in values), np.float64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    missing = np.array([value is None for value in values], bool)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat), mask=pa.array(missing))
