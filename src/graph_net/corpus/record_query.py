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
from graph_net.store.record_parts import read_part
from graph_net.store.record_upgrade import absent_columns
from graph_net.store.records import RecordStore, Stored

PER_BLOCK_SQL = """try_cast(regexp_extract(rest, '"per_block":([0-9]{1,4})', 1) AS BIGINT)"""
"""How a part that has no such column says it."""


def query(store: RecordStore, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a question in SQL.

    It sees ``records``, ``programs``, ``tasks``, ``workloads`` and nothing else of this machine.
    """
    import duckdb

    programs = ProgramStore(store.path)
    if not programs.parts():
        store.require()
    with duckdb.connect(":memory:") as connection:
        selects = []
        for number, (source, columns) in enumerate(_sources(store)):
            connection.register(f"source_{number}", source)
            selects.append(f"SELECT {columns} FROM source_{number}")  # noqa: S608
        union = " UNION ALL BY NAME ".join(selects)
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


def _sources(store: RecordStore) -> Iterator[tuple[Any, str]]:
    """What DuckDB reads, and its columns: each key once.

    A part stays on disk unless it has a key twice, or is one of the first version.
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
        yield _on_disk(stored, schema), f"*, {PER_BLOCK_SQL} AS per_block" if absent else "*"
    yield ds.dataset(whole, schema=SCHEMA, format="parquet") if whole else SCHEMA.empty_table(), "*"


def _on_disk(stored: Stored, schema: pa.Schema) -> Any:
    """A part without the rows that do not count, read when a question asks for it."""
    dataset = ds.dataset([str(stored.path)], schema=schema, format="parquet")
    if stored.rows is None:
        return dataset
    keys = read_part(stored.path, ["key"])["key"]
    kept = keys.take(pa.array(stored.rows))
    gone = keys.filter(pc.invert(pc.is_in(keys, value_set=kept.combine_chunks())))
    if len(kept) + len(gone) < len(keys):  # a key is twice in this part alone
        return stored.table().select(schema.names)
    return dataset.filter(~ds.field("key").isin(gone.combine_chunks()))
