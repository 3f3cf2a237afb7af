"""Export the programs of a store as plain columns, which any Parquet reader can use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from shutil import copytree, rmtree
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from graph_net.programs.formats import ReadError
from graph_net.programs.spaces import SpaceError
from graph_net.programs.store.plain_format import NOTED, OPTIONAL, PARAMETERS, PLAIN, SCHEMA
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.task_table import SCHEMA as TASKS
from graph_net.programs.store.task_table import TaskStore
from graph_net.programs.store.workload_table import SCHEMA as WORKLOADS
from graph_net.programs.store.workload_table import WorkloadStore
from graph_net.programs.triton.space import NAME as TRITON
from graph_net.programs.triton.space import family_of
from graph_net.programs.triton.target import Target
from graph_net.programs.view.overview import TaskSummary, summaries, tables
from graph_net.results import Json, canonical, json_object
from graph_net.store.atomic import open_atomic
from graph_net.store.sql import Sql

SUBGRAPHS = "subgraphs"
LEVEL = 19
"""Compression level of zstd; high because a set is published once and read for years."""
ROWS = 1 << 16
PAGE = 8 << 20
"""Bytes per page. A page is compressed as one, and the schedules of a task resemble each other."""
DICTIONARY = 16 << 20
"""Most bytes of a dictionary. Times are whole clock ticks: few values, each frequent."""
DELTA = ("measured", "line")
_COLUMNS = """task, workload, kernel, format, version, target, device_name, schedule, costs,
    status, stage, symptom, message, seconds, measured, program, source, line, details,
    fingerprint, extra"""
_ROWS = f"SELECT {_COLUMNS} FROM programs ORDER BY task, source, line"  # noqa: S608


def publish(source: Path, output: Path) -> int:
    """Write the programs of a store as plain columns; return the number of rows.

    Also writes the tables of tasks and workloads, and the subgraphs. Replaces what was published
    there before; other programs there are an error, since they would be counted twice.
    """
    with tables(source) as connection:
        output.mkdir(parents=True, exist_ok=True)
        part = output / f"{PLAIN.prefix}.parquet"
        if others := [other.name for other in ProgramStore(output).parts() if other != part]:
            raise ReadError(f"{output} has programs of its own: delete {', '.join(others)} first")
        tasks = summaries(connection)
        with open_atomic(part) as file:
            count = _write(file, connection, tasks)
    _copy(TaskStore(source).source(), TASKS, output / "tasks-plain.parquet")
    _copy(WorkloadStore(source).source(), WORKLOADS, output / "workloads-plain.parquet")
    if (source / SUBGRAPHS).is_dir() and source.resolve() != output.resolve():
        rmtree(output / SUBGRAPHS, ignore_errors=True)
        copytree(source / SUBGRAPHS, output / SUBGRAPHS)
    return count


def _copy(source: Any, schema: pa.Schema, target: Path) -> None:
    """Write all parts of a table as one part, if it has rows."""
    table = source if isinstance(source, pa.Table) else source.to_table()
    if len(table):
        with open_atomic(target) as file:
            pq.write_table(table.cast(schema), file, compression="zstd", compression_level=LEVEL)


def _write(file: IO[bytes], connection: Sql, tasks: Iterable[TaskSummary]) -> int:
    """Write the programs in two passes: one finds the columns in use, one writes the rows.

    Memory holds one row group, however many programs there are.
    """
    by_name = {task.task: task for task in tasks}
    held = {name for row in _plain_rows(connection, by_name) for name in row}
    schema = pa.schema(
        [field for field in SCHEMA if field.name in held or field.name not in OPTIONAL],
        SCHEMA.metadata,
    )
    count = 0
    with _writer(file, schema) as writer:
        rows = _plain_rows(connection, by_name)
        while group := list(islice(rows, ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema), row_group_size=ROWS)
            count += len(group)
    return count


def _writer(file: IO[bytes], schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=LEVEL,
        data_page_size=PAGE,
        dictionary_pagesize_limit=DICTIONARY,
        use_dictionary=[path for path in _paths(schema) if path not in DELTA],
        column_encoding=dict.fromkeys(DELTA, "DELTA_BINARY_PACKED"),
        write_statistics=["task"],
    )


def _paths(schema: pa.Schema) -> list[str]:
    """Return the column paths as Parquet names them."""
    return [
        f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name
        for field in schema
    ]


def _plain_rows(connection: Sql, tasks: Mapping[str, TaskSummary]) -> Iterator[dict[str, Any]]:
    """Yield the programs of each task together, in the order they were measured."""
    known = {
        name: {"structure": task.structure or None, "graph": task.graph or None, **_sizes(task)}
        for name, task in tasks.items()
    }
    found = connection.execute(_ROWS)
    names = [column[0] for column in found.description or ()]
    while values := found.fetchmany(ROWS):
        for value in values:
            row: dict[str, Any] = dict(zip(names, value, strict=True))
            row["device"] = row.pop("device_name")
            yield {**row, **known[row["task"]], **_parameters(row), **_noted(row["extra"])}


def _sizes(task: TaskSummary) -> dict[str, Any]:
    """Return the dtype and sizes of a Triton kernel; other tasks do not give them."""
    tree = json_object(task.details).get("module")
    if task.format != TRITON or not isinstance(tree, dict):
        return {}
    try:
        family = family_of(tree, Target())
    except SpaceError:
        return {}
    return {"dtype": tree["dtype"], "shape": [tree[size] for size in family.sizes if size in tree]}


def _parameters(row: Mapping[str, Any]) -> dict[str, int]:
    if row["format"] != TRITON:
        return {}
    config = json_object(row["schedule"])
    return {name: config[name] for name in PARAMETERS if _is_small(config.get(name))}


def _noted(text: str | None) -> dict[str, Any]:
    """Return a collector's notes as columns; notes that fit no column stay JSON."""
    tree = json_object(text)
    taken = {key: value for key, value in tree.items() if _fits(key, value)}
    rest = {key: value for key, value in tree.items() if key not in taken}
    columns = {NOTED[key]: value for key, value in taken.items()}
    left = canonical(rest) if rest else None
    return {"again": False, **columns, "extra": left if taken else text or None}


def _fits(key: str, value: Json) -> bool:
    match key:
        case "again":
            return value is True
        case "compiled" | "loaded":
            return isinstance(value, float)
        case "registers" | "shared" | "spills":
            return _is_small(value)
        case "torch":
            return isinstance(value, list) and all(isinstance(one, float) for one in value)
    return False


def _is_small(value: Any) -> bool:
    """Return whether a value is an integer that fits in 32 bits."""
    return type(value) is int and abs(value) < 1 << 31
