"""Records on disk: immutable Parquet parts, and the journals of runs that are not in one yet.

A run appends to its own journal. ``compact`` makes parts of finished journals: a part is written
aside, synced and renamed before its journals go, so a record may for a moment be in both, and
readers take each key once: the one that counts (``counting``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.record import RETRIED, Record, RecordError, Symptom
from graph_net.store.atomic import replacing
from graph_net.store.counting import KEY, Standing
from graph_net.store.counting_rows import counting_rows
from graph_net.store.files import matching
from graph_net.store.lock import held
from graph_net.store.record_columns import SCHEMA, record_of, row_of
from graph_net.store.record_journal import SUFFIX, Journal, read_journal
from graph_net.store.record_parts import (
    PARQUET,
    number_of_part,
    order_of_journal,
    read_part,
    table_of,
)

PART_RECORDS = 4096
_FINAL = {None, *Symptom} - RETRIED


class RecordStore:
    """A directory of records."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """The Parquet parts, oldest first."""
        return sorted(matching(self.path, f"part-*{PARQUET}"), key=number_of_part)

    def journals(self) -> list[Path]:
        """The journals that are in no part yet, oldest first."""
        return sorted(matching(self.path, f"run-*{SUFFIX}"), key=order_of_journal)

    def require(self) -> RecordStore:
        """This store, if it holds anything; raises otherwise."""
        if not self.parts() and not self.journals():
            raise RecordError(f"{self.path} holds no records; `graph-net bench` makes some")
        return self

    def final_keys(self, retry: bool = False) -> set[str]:
        """What a resumed run passes over; with ``retry``, only what succeeded."""
        passed = {None} if retry else _FINAL
        table = self.counting_table(["key", "symptom"])
        pairs = zip(table["key"].to_pylist(), table["symptom"].to_pylist(), strict=True)
        return {key for key, symptom in pairs if symptom in passed}

    def standings(self) -> dict[str, Standing]:
        """Return what decides whether a result from elsewhere is stored, by key."""
        rows = self.counting_table(["key", "symptom", "started"]).to_pylist()
        return {row["key"]: Standing(row["symptom"] in _FINAL, row["started"]) for row in rows}

    def records(self) -> Iterator[Record]:
        """Every record, one part in memory at a time; of a key that was tried again, the last."""
        for (place, table), last in zip(self._tables(), self.counting_rows(), strict=True):
            kept = table if last is None else table.take(pa.array(last))
            for number, row in enumerate(kept.to_pylist()):
                try:
                    yield record_of(row)
                except RecordError as error:
                    line = number if last is None else int(last[number])
                    raise RecordError(f"{place.name}, record {line + 1}: {error}") from error

    def counting_rows(self) -> list[npt.NDArray[Any] | None]:
        """Of each part, then of each journal, the rows that no later one supersedes; None: all."""
        tables = [table for _, table in self._tables(KEY)]
        if not tables:
            return []
        last = counting_rows(pa.concat_tables(tables))
        if last is None:
            return [None] * len(tables)
        ends = np.cumsum([table.num_rows for table in tables])
        found = []
        for table, end in zip(tables, ends.tolist(), strict=True):
            begin = end - table.num_rows
            rows = last[(last >= begin) & (last < end)] - begin
            found.append(None if len(rows) == table.num_rows else rows)
        return found

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records in the order of storing, superseded ones among them."""
        names = SCHEMA.names if columns is None else list(columns)
        tables = [table for _, table in self._tables(names)]
        return pa.concat_tables([SCHEMA.empty_table().select(names), *tables])

    def counting_table(self, columns: Sequence[str]) -> pa.Table:
        """The records that count, in the order of storing."""
        table = self.table([*dict.fromkeys((*columns, *KEY))])
        rows = counting_rows(table)
        return (table if rows is None else table.take(pa.array(rows))).select(list(columns))

    def _tables(self, columns: Sequence[str] | None = None) -> Iterator[tuple[Path, pa.Table]]:
        for part in self.parts():
            yield part, read_part(part, columns)
        for path in self.journals():
            table = table_of(read_journal(path))
            yield path, table if columns is None else table.select(columns)

    def journal(self) -> Journal:
        """A new journal for one run; it comes after those that are there, whatever the clock."""
        number = 1 + max((order_of_journal(path)[0] for path in self.journals()), default=0)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        return Journal(self.path / f"run-n{number:08d}-{stamp}-{os.getpid()}{SUFFIX}")

    def locked(self) -> AbstractContextManager[None]:
        """Hold the store for one run; a second one is told."""
        return held(self.path)

    def compact(self) -> None:
        """Make a part of the journals, once they are worth one."""
        journals = self.journals()
        rows: list[dict[str, Any]] = []
        for record in chain.from_iterable(map(read_journal, journals)):
            rows.append(row_of(record))
            if len(rows) == PART_RECORDS:
                self._write(rows)
                rows = []
        if rows:
            self._write(rows)
        for path in journals:
            path.unlink()

    def _write(self, rows: list[dict[str, Any]]) -> None:
        number = 1 + max(map(number_of_part, self.parts()), default=-1)
        target = self.path / f"part-{number:05d}{PARQUET}"
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        with replacing(target) as aside:
            pq.write_table(table, aside, compression="zstd", compression_level=12)
