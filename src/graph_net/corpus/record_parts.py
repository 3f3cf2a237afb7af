"""Parts and journals of records as tables: in the order of storing, their columns checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.corpus.record_columns import LATER, SCHEMA, row_of
from graph_net.corpus.sources import check_columns, first_line
from graph_net.record import Record, RecordError

PARQUET = ".parquet"
_PART = re.compile(r"part-(\d{1,18})\.parquet", re.ASCII)
_JOURNAL = re.compile(r"run-n(\d{1,18})-.*", re.ASCII)


def number_of_part(path: Path) -> int:
    """The place of a part among the others; raises where its name does not say."""
    found = _PART.fullmatch(path.name)
    if found is None:
        raise RecordError(f"{path} is not named part-NUMBER{PARQUET}; rename it, or move it away")
    return int(found[1])


def order_of_journal(path: Path) -> tuple[int, str]:
    """The place of a journal among the others; those that have a time alone in their name first."""
    found = _JOURNAL.fullmatch(path.name)
    return (int(found[1]) if found else 0, path.name)


def read_part(part: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of a part, of these columns; raises RecordError where it holds anything else."""
    wanted = SCHEMA.names if columns is None else list(columns)
    there = check_part(part, wanted)
    try:
        table = pq.ParquetFile(part).read(columns=there)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{part} cannot be read: {first_line(error)}") from error
    for name in (name for name in wanted if name not in there):
        field = SCHEMA.field(name)
        table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(wanted)


def check_part(part: Path, columns: Iterable[str]) -> list[str]:
    """Those of the columns that a part has; raises RecordError unless it has all it must."""
    there = [name for name in columns if name not in LATER or name in _names(part)]
    check_columns(part, SCHEMA, there)
    return there


def _names(part: Path) -> list[str]:
    try:
        return pq.read_schema(part).names  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError):
        return []  # what is no Parquet file is told by whoever checks its columns


def table_of(records: Iterable[Record]) -> pa.Table:
    """Records as a table."""
    return pa.Table.from_pylist([row_of(record) for record in records], schema=SCHEMA)
