"""PartFormat: how a part stores programs, and how the columns of queries are computed from it.

There are two. The packed format (``columns``) takes few bytes for millions of programs and needs
this package to read; the plain format (``plain_format``) is published. Queries see one table over
the parts of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from graph_net.store.parquet import check_columns
from graph_net.store.parquet_guard import STORE, Guarded


@dataclass(frozen=True)
class PartFormat:
    """One way to store programs."""

    prefix: str
    """Prefix of its file names."""
    schema: pa.Schema
    optional: frozenset[str]
    """Columns that a part may lack; they are read as nulls."""
    columns: Mapping[str, str]
    """The columns of queries, each as the SQL that computes it from stored columns."""
    instant: str
    """SQL of ``measured`` as seconds since 1970, exactly as read."""
    beside: tuple[str, ...] = ()
    """Stored columns that queries see unchanged."""

    def present(self, part: Path) -> list[str]:
        """Return the format's columns in a part; raise RecordError if one is wrong or missing."""
        required = [name for name in self.schema.names if name not in self.optional]
        check_columns(part, self.schema, required)
        has = set(pq.read_schema(part).names)
        names = [name for name in self.schema.names if name in has]
        check_columns(part, self.schema, names)
        return names

    def check(self, parts: Sequence[Path]) -> None:
        """Raise ParquetError unless each row group of the parts can be held in memory."""
        required = [field for field in self.schema if field.name not in self.optional]
        optional = [field for field in self.schema if field.name in self.optional]
        guarded = Guarded(parts, pa.schema(required), optional, STORE)
        guarded.check(self.schema.names, together=False)

    def dataset(self, parts: Sequence[Path]) -> ds.Dataset:
        """Return parts as a dataset, with every column of the schema that any of them has."""
        present = {name for part in parts for name in self.present(part)}
        self.check(parts)
        schema = pa.schema([field for field in self.schema if field.name in present])
        return ds.dataset([str(part) for part in parts], schema=schema, format="parquet")

    def select(self, source: str, present: Iterable[str]) -> str:
        """Return the SQL that selects the columns of queries from a table with these columns."""
        names = set(present)
        shown = [f"{how} AS {name}" for name, how in self._computed(names).items()]
        beside = [name for name in self.beside if name in names]
        return f"SELECT {', '.join([*shown, *beside])} FROM {source}"  # noqa: S608

    def _computed(self, present: set[str]) -> dict[str, str]:
        lacking = self.optional - present
        return {
            name: "NULL::VARCHAR" if how in lacking else how for name, how in self.columns.items()
        }

    def stored(self, columns: Iterable[str]) -> list[str]:
        """Return the stored columns that these columns of queries are computed from."""
        words = {word for name in columns for word in re.findall(r"\w+", self.columns[name])}
        return [name for name in self.schema.names if name in words]

    def read_group(self, file: pq.ParquetFile, group: int, names: Sequence[str]) -> pa.Table:
        """Return stored columns of a row group; columns that the file lacks are null."""
        has = set(file.schema_arrow.names)
        table = file.read_row_group(group, [name for name in names if name in has])
        rows = file.metadata.row_group(group).num_rows
        for name in names:
            if name not in has:
                table = table.append_column(name, pa.nulls(rows, self.schema.field(name).type))
        return table
