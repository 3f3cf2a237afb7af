"""Records on disk: immutable Parquet parts, and the journals of runs that are not in one yet.

A run appends to its own journal. ``compact`` makes parts of finished journals: a part is written
aside, synced and renamed before its journals go, so a record may for a moment be in both, and
readers take each key once: the one that counts (``counting``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.results import RETRIED, Record, RecordError, Symptom
from graph_net.store.atomic import replacing
from graph_net.store.counting import KEY, Precedence
from graph_net.store.counting_rows import Ints, counting_rows
from graph_net.store.files import matching
from graph_net.store.lock import held
from graph_net.store.record_columns import SCHEMA, record_of
from graph_net.store.record_journal import SUFFIX, RecordJournal, read_journal
from graph_net.store.record_parts import (
    PARQUET,
    number_of_part,
    order_of_journal,
    read_part,
    tables_of,
)

PART_RECORDS = 4096
_FINAL = {None, *Symptom} - RETRIED


@dataclass(frozen=True)
class CountingFile:
    """A part or a journal, and which of its rows count; a journal was decoded to know that."""

    path: Path
    rows: Ints | None
    """None for all of them."""
    journal: pa.Table | None

    def table(self) -> pa.Table:
        """The rows that count."""
        table = read_part(self.path) if self.journal is None else self.journal
        return table if self.rows is None else table.take(pa.array(self.rows))


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

    def precedences(self) -> dict[str, Precedence]:
        """Return what decides whether a result from elsewhere is stored, by key."""
        rows = self.counting_table(["key", "symptom", "started"]).to_pylist()
        return {row["key"]: Precedence(row["symptom"] in _FINAL, row["started"]) for row in rows}

    def records(self) -> Iterator[Record]:
        """Every record that counts, one part in memory at a time."""
        for stored in self.stored():
            for number, row in enumerate(stored.table().to_pylist()):
                try:
                    yield record_of(row)
                except RecordError as error:
                    line = number if stored.rows is None else int(stored.rows[number])
                    raise RecordError(f"{stored.path.name}, record {line + 1}: {error}") from error

    def stored(self) -> list[CountingFile]:
        """The parts, then the journals, and which of their rows count; journals are decoded."""
        journals = {path: read_table(path, SCHEMA.names) for path in self.journals()}
        parts = self.parts()
        keys = [read_part(part, KEY) for part in parts]
        keys += [table.select(KEY) for table in journals.values()]
        if not keys:
            return []
        counting = counting_rows(pa.concat_tables(keys))
        found, begin = [], 0
        for path, key in zip([*parts, *journals], keys, strict=True):
            end = begin + key.num_rows
            rows = None if counting is None else counting[_between(counting, begin, end)] - begin
            if rows is not None and len(rows) == key.num_rows:
                rows = None
            found.append(CountingFile(path, rows, journals.get(path)))
            begin = end
        return found

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records in the order of storing, superseded ones among them."""
        names = SCHEMA.names if columns is None else list(columns)
        tables = [read_part(part, names) for part in self.parts()]
        tables += [read_table(path, names) for path in self.journals()]
        return pa.concat_tables([SCHEMA.empty_table().select(names), *tables])

    def counting_table(self, columns: Sequence[str]) -> pa.Table:
        """The records that count, in the order of storing."""
        table = self.table([*dict.fromkeys((*columns, *KEY))])
        rows = counting_rows(table)
        return (table if rows is None else table.take(pa.array(rows))).select(list(columns))

    def journal(self) -> RecordJournal:
        """A new journal for one run; it comes after those that are there, whatever the clock."""
        number = 1 + max((order_of_journal(path)[0] for path in self.journals()), default=0)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        return RecordJournal(self.path / f"run-n{number:08d}-{stamp}-{os.getpid()}{SUFFIX}")

    def locked(self) -> AbstractContextManager[None]:
        """Hold the store for one run; a second one is told."""
        return held(self.path)

    def compact(self) -> None:
        """Make parts of the journals."""
        journals = self.journals()
        records = chain.from_iterable(map(read_journal, journals))
        for table in tables_of(records, SCHEMA.names, PART_RECORDS):
            if table.num_rows:
                self._write(table)
        for path in journals:
            path.unlink()

    def _write(self, table: pa.Table) -> None:
        number = 1 + max(map(number_of_part, self.parts()), default=-1)
        with replacing(self.path / f"part-{number:05d}{PARQUET}") as aside:
            pq.write_table(table, aside, compression="zstd", compression_level=12)


def read_table(journal: Path, columns: Sequence[str]) -> pa.Table:
    """The records of a journal as a table."""
    return pa.concat_tables(tables_of(read_journal(journal), columns))


def _between(rows: Ints, begin: int, end: int) -> slice:
    """Where in sorted numbers those of a range are."""
    return slice(*np.searchsorted(rows, [begin, end]).tolist())
