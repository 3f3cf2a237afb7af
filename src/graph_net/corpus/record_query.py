"""Questions to a directory of records in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from graph_net.corpus.program_columns import COLUMNS
from graph_net.corpus.programs import ProgramStore
from graph_net.corpus.tasks import TaskStore
from graph_net.corpus.workloads import WorkloadStore
from graph_net.record import RecordError
from graph_net.store.parquet import check_columns
from graph_net.store.record_columns import SCHEMA
from graph_net.store.record_journal import read_journal
from graph_net.store.record_parts import read_part, table_of
from graph_net.store.record_upgrade import is_older
from graph_net.store.records import RecordStore


def query(store: RecordStore, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a question in SQL.

    It sees ``records``, ``programs``, ``tasks``, ``workloads`` and nothing else of this machine.
    """
    import duckdb

    programs = ProgramStore(store.path)
    if not programs.parts():
        store.require()
    with duckdb.connect(":memory:") as connection:
        names = []
        for number, source in enumerate(_sources(store)):
            names.append(f"source_{number}")
            connection.register(names[-1], source)
        union = " UNION ALL BY NAME ".join(f"SELECT * FROM {name}" for name in names)  # noqa: S608
        connection.execute(f"CREATE VIEW records AS {union}")
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


def _sources(store: RecordStore) -> Iterator[Any]:
    """What DuckDB reads: each key once. A part stays on disk unless it has a key twice."""
    whole: list[str] = []
    parts, journals, last = store.parts(), store.journals(), store.counting_rows()
    for part, rows in zip(parts, last, strict=False):
        if is_older(part):
            table = read_part(part)
            yield table if rows is None else table.take(pa.array(rows))
            continue
        check_columns(part, SCHEMA, SCHEMA.names)
        if rows is None:
            whole.append(str(part))
            continue
        keys = read_part(part, ["key"])["key"]
        kept = keys.take(pa.array(rows))
        gone = keys.filter(pc.invert(pc.is_in(keys, value_set=kept.combine_chunks())))
        if len(kept) + len(gone) < len(keys):  # a key is twice in this part alone
            yield read_part(part).take(pa.array(rows))
        else:
            stored = ds.dataset([str(part)], schema=SCHEMA, format="parquet")
            yield stored.filter(~ds.field("key").isin(gone.combine_chunks()))
    for path, rows in zip(journals, last[len(parts) :], strict=True):
        table = table_of(read_journal(path))
        yield table if rows is None else table.take(pa.array(rows))
    yield ds.dataset(whole, schema=SCHEMA, format="parquet") if whole else SCHEMA.empty_table()
