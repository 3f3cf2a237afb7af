"""Records on disk: immutable Parquet parts, and the journals of runs that are not in one yet.

A run appends to its own journal. ``compact`` makes parts of finished journals: a part is written
aside, synced and renamed before its journals go, so a record may for a moment be in both, and
readers take each key once (the latest).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.corpus.pack import sync_directory
from graph_net.corpus.program_columns import COLUMNS
from graph_net.corpus.programs import ProgramStore
from graph_net.corpus.record_columns import SCHEMA, record_of, row_of
from graph_net.corpus.tasks import TaskStore
from graph_net.corpus.workloads import WorkloadStore
from graph_net.files import held, matching
from graph_net.measure.journal import SUFFIX, Journal, read_journal
from graph_net.record import RETRIED, Record, RecordError, Symptom

PART_RECORDS = 4096
PARQUET = ".parquet"


class RecordStore:
    """A directory of records."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def parts(self) -> list[Path]:
        """The Parquet parts, oldest first."""
        return matching(self.path, f"part-*{PARQUET}")

    def journals(self) -> list[Path]:
        """The journals that are in no part yet, oldest first."""
        return matching(self.path, f"run-*{SUFFIX}")

    def require(self) -> RecordStore:
        """This store, if it holds anything; raises otherwise."""
        if not self.parts() and not self.journals():
            raise RecordError(f"{self.path} holds no records; `graph-net bench` makes some")
        return self

    def final_keys(self, retry: bool = False) -> set[str]:
        """What a resumed run passes over; with ``retry``, only what succeeded."""
        again = {None} if retry else {None, *Symptom} - RETRIED
        found: set[str] = set()
        for part in self.parts():
            table = pq.read_table(part, columns=["key", "symptom"])
            for key, symptom in zip(table["key"], table["symptom"], strict=True):
                if symptom.as_py() in again:
                    found.add(key.as_py())
        for journal in self.journals():
            for record in read_journal(journal):
                if (record.failure and record.failure.symptom) in again:
                    found.add(record.key)
        return found

    def records(self) -> Iterator[Record]:
        """Every record, one part in memory at a time; of a key that was tried again, the last."""
        last = self._last()
        for place, rows in self._rows():
            for number, row in enumerate(rows):
                if last[row["key"]] == (place, number):
                    yield record_of(row)

    def _last(self) -> dict[str, tuple[int, int]]:
        return {
            row["key"]: (place, number)
            for place, rows in self._rows(["key"])
            for number, row in enumerate(rows)
        }

    def _rows(self, columns: list[str] | None = None) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        place = 0
        for part in self.parts():
            yield place, pq.read_table(part, columns=columns).to_pylist()
            place += 1
        for journal in self.journals():
            yield place, [row_of(record) for record in read_journal(journal)]
            place += 1

    def table(self) -> pa.Table:
        """The records of the journals as a table, for questions before they are compacted."""
        rows = [row_of(record) for path in self.journals() for record in read_journal(path)]
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    def journal(self) -> Journal:
        """A new journal for one run."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        return Journal(self.path / f"run-{stamp}-{os.getpid()}{SUFFIX}")

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
        sync_directory(self.path)
        for path in journals:
            path.unlink()

    def _write(self, rows: list[dict[str, Any]]) -> None:
        numbers = [int(part.stem.removeprefix("part-")) for part in self.parts()]
        target = self.path / f"part-{1 + max(numbers, default=-1):05d}{PARQUET}"
        aside = self.path / f".{target.name}.{os.getpid()}"
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        pq.write_table(table, aside, compression="zstd", compression_level=12)
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.rename(target)


def query(store: RecordStore, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a question in SQL.

    It sees ``records``, ``programs``, ``tasks``, ``workloads`` and nothing else of this machine.
    """
    import duckdb
    import pyarrow.dataset as ds

    programs = ProgramStore(store.path)
    if not programs.parts():
        store.require()
    sources: list[Any] = [store.table()]
    if store.parts():
        sources.append(ds.dataset([str(part) for part in store.parts()], format="parquet"))
    with duckdb.connect(":memory:") as connection:
        names = [f"source_{number}" for number in range(len(sources))]
        for name, source in zip(names, sources, strict=True):
            connection.register(name, source)
        union = " UNION ALL BY NAME ".join(f"SELECT * FROM {name}" for name in names)  # noqa: S608
        connection.execute(
            f"CREATE VIEW records AS SELECT * FROM ({union}) "  # noqa: S608 - fixed names
            "QUALIFY row_number() OVER (PARTITION BY key ORDER BY started DESC) = 1"
        )
        programs.create_view(connection)
        connection.register("tasks", TaskStore(store.path).source())
        if "workloads" in question.lower():  # modules are large, and looked at before they are read
            connection.register("workloads", WorkloadStore(store.path).source())
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        try:
            if len(connection.extract_statements(question)) != 1:
                raise RecordError("one question at a time")
            found = connection.execute(question)
            return [column[0] for column in found.description or ()], found.fetchall()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            columns = ", ".join(SCHEMA.names)
            others = ", ".join(COLUMNS)
            tables = f"The tables are records ({columns}), programs ({others}), tasks and workloads"
            raise RecordError(f"{reason}. {tables}") from error
