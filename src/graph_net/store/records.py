"""A store of records: immutable Parquet parts, and the journals of runs that are not in one yet.

A run appends to its own journal. ``compact`` turns finished journals into parts: a part is written
aside, synced and renamed before its journals are removed. A record may briefly be in both; readers
take each key once, the one that counts (``counting``).
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
from graph_net.store.files import list_regular
from graph_net.store.lock import hold_lock
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
    """A part or a journal, and which of its rows count; a journal comes decoded."""

    path: Path
    rows: Ints | None
    """None for all of them."""
    journal: pa.Table | None

    def table(self) -> pa.Table:
        """Return the rows that count."""
        table = read_part(self.path) if self.journal is None else self.journal
        return table if self.rows is None else table.take(pa.array(self.rows))


class RecordStore:
    """A store of records in a directory."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """List the Parquet parts, oldest first."""
        return sorted(list_regular(self.path, f"part-*{PARQUET}"), key=number_of_part)

    def journals(self) -> list[Path]:
        """List the journals that are not in a part yet, oldest first."""
        return sorted(list_regular(self.path, f"run-*{SUFFIX}"), key=order_of_journal)

    def require(self) -> RecordStore:
        """Return this store; raise RecordError if it is empty."""
        if not self.parts() and not self.journals():
            raise RecordError(f"{self.path} holds no records; make some with `graph-net bench`")
        return self

    def final_keys(self, retry: bool = False) -> set[str]:
        """Return the keys that a resumed run skips; with ``retry``, only the successes."""
        skipped = {None} if retry else _FINAL
        table = self.counting_table(["key", "symptom"])
        pairs = zip(table["key"].to_pylist(), table["symptom"].to_pylist(), strict=True)
        return {key for key, symptom in pairs if symptom in skipped}

    def precedences(self) -> dict[str, Precedence]:
        """Return, by key, what decides whether a result from another file is stored."""
        rows = self.counting_table(["key", "symptom", "started"]).to_pylist()
        return {row["key"]: Precedence(row["symptom"] in _FINAL, row["started"]) for row in rows}

    def records(self) -> Iterator[Record]:
        """Yield every record that counts, with one part in memory at a time."""
        for stored in self.stored():
            for number, row in enumerate(stored.table().to_pylist()):
                try:
                    yield record_of(row)
                except RecordError as error:
                    line = number if stored.rows is None else int(stored.rows[number])
                    raise RecordError(f"{stored.path.name}, record {line + 1}: {error}") from error

    def stored(self) -> list[CountingFile]:
        """Return the parts, then the journals, each with the rows that count."""
        journals = {path: read_table(path, SCHEMA.names) for path in self.journals()}
        parts = self.parts()
        keys = [read_part(part, KEY) for part in parts]
        keys += [table.select(KEY) for table in journals.values()]
        if not keys:
            return []
        counting = counting_rows(pa.concat_tables(keys))
        files, begin = [], 0
        for path, key in zip([*parts, *journals], keys, strict=True):
            end = begin + key.num_rows
            rows = None
            if counting is not None:
                first, last = np.searchsorted(counting, [begin, end]).tolist()
                if last - first < key.num_rows:
                    rows = counting[first:last] - begin
            files.append(CountingFile(path, rows, journals.get(path)))
            begin = end
        return files

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all records in the order of storing, including superseded ones."""
        names = SCHEMA.names if columns is None else list(columns)
        tables = [read_part(part, names) for part in self.parts()]
        tables += [read_table(path, names) for path in self.journals()]
        return pa.concat_tables([SCHEMA.empty_table().select(names), *tables])

    def counting_table(self, columns: Sequence[str]) -> pa.Table:
        """Return the records that count, in the order of storing."""
        table = self.table([*dict.fromkeys((*columns, *KEY))])
        rows = counting_rows(table)
        return (table if rows is None else table.take(pa.array(rows))).select(list(columns))

    def journal(self) -> RecordJournal:
        """Return a new journal for one run, after all others whatever the clock."""
        number = 1 + max((order_of_journal(path)[0] for path in self.journals()), default=0)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        return RecordJournal(self.path / f"run-n{number:08d}-{stamp}-{os.getpid()}{SUFFIX}")

    def locked(self) -> AbstractContextManager[None]:
        """Lock the store for one run; raise InUse if another has it."""
        return hold_lock(self.path)

    def compact(self) -> None:
        """Turn the journals into parts."""
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
    """Return the records of a journal as a table."""
    return pa.concat_tables(tables_of(read_journal(journal), columns))
