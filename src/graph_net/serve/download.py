"""Tables as files: CSV for a spreadsheet, Parquet for everything else."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

FORMULA = "^[=+@\\t\\r-]"
"""Pattern of texts that a spreadsheet would evaluate as formulas."""
TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def to_file(table: pa.Table, kind: str) -> bytes:
    """Return a table as the bytes of a file of that kind."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pq.write_table(table, sink, compression="zstd")
    else:
        csv.write_csv(_flat(table), sink)
    return bytes(sink.getvalue())


def _flat(table: pa.Table) -> pa.Table:
    """Return a table of plain values: lists as text, and no text that a spreadsheet evaluates.

    Names come from untrusted files, and a spreadsheet evaluates text that begins with "=". Parquet
    files have them unchanged.
    """
    columns = [_column(table.column(place)) for place in range(table.num_columns)]
    return pa.table(columns, names=[_safe(name) for name in table.column_names])


def _column(column: pa.ChunkedArray) -> Any:
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        column = pa.chunked_array([pa.array(texts, pa.string())])
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    return pc.if_else(
        pc.match_substring_regex(column, FORMULA),
        pc.binary_join_element_wise(
            pa.scalar("'", column.type), column, pa.scalar("", column.type)
        ),
        column,
    )


def _safe(name: str) -> str:
    return f"'{name}" if name[:1] in "=+@\t\r-" and name else name
