"""Stores of programs and features that strangers made: other columns are one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graph_net.api.query import query
from graph_net.programs.store.columns import SCHEMA
from graph_net.programs.store.plain_format import PLAIN
from graph_net.programs.store.program_store import ProgramStore
from graph_net.programs.store.questions import batches, best_by_task
from graph_net.results import RecordError
from graph_net.store.files import NotRegular
from graph_net.store.parquet_guard import ParquetError
from graph_net.store.records import RecordStore

NAME = "programs-2-0.parquet"
PLAIN_NAME = "programs-plain.parquet"


def store(folder: Path, **changes: pa.Array) -> ProgramStore:
    """A store of one program without values, some columns replaced."""
    columns = [changes.get(field.name, pa.nulls(1, field.type)) for field in SCHEMA]
    pq.write_table(pa.table(columns, SCHEMA.names), folder / NAME)
    return ProgramStore(folder)


def test_a_store_of_the_right_columns_is_read(tmp_path: Path) -> None:
    assert len(best_by_task(store(tmp_path))) == 1


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    found = store(tmp_path, repeats=pa.array(["many"]))
    for read in (best_by_task, lambda store: list(batches(store)), lambda s: list(s.programs())):
        with pytest.raises(RecordError, match=f"{NAME} is damaged: its column repeats is string"):
            read(found)
    with pytest.raises(RecordError, match="column repeats"):
        query(RecordStore(tmp_path), "SELECT count(*) FROM programs")


def plain_store(folder: Path, **changes: pa.Array) -> ProgramStore:
    """A store of one published program without values, some columns replaced."""
    columns = [changes.get(field.name, pa.nulls(1, field.type)) for field in PLAIN.schema]
    pq.write_table(pa.table(columns, PLAIN.schema.names), folder / PLAIN_NAME)
    return ProgramStore(folder)


def test_a_column_of_another_type_in_a_published_part_is_named(tmp_path: Path) -> None:
    for name in ("costs", "block_m"):
        found = plain_store(tmp_path, **{name: pa.array(["many"])})
        for read in (best_by_task, lambda s: list(batches(s)), lambda s: list(s.programs())):
            with pytest.raises(RecordError, match=f"{PLAIN_NAME} is damaged: its column {name} is"):
                read(found)


def test_a_published_part_with_lists_without_end(tmp_path: Path) -> None:
    numbers = pa.repeat(pa.scalar(1.0), 40_000_000)
    endless = pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)
    found = plain_store(tmp_path, costs=endless)
    with pytest.raises(ParquetError, match="column costs: it has 40,000,000 values"):
        list(found.programs())


def test_a_published_part_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / PLAIN_NAME).write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(RecordError, match=f"{PLAIN_NAME} is not a Parquet file"):
        ProgramStore(tmp_path).parts()


def test_notes_that_are_no_json_stay_what_they_are(tmp_path: Path) -> None:
    texts = {name: pa.array(["x"]) for name in ("format", "workload", "kernel", "target", "task")}
    texts |= {name: pa.array([""]) for name in ("details", "version")}
    (found,) = plain_store(
        tmp_path,
        **texts,
        schedule=pa.array(["[]"]),
        status=pa.array(["success"]),
        costs=pa.array([[1.0]]),
        extra=pa.array(["{no json}"]),
    ).programs()
    assert found[1].extra == "{no json}"


def test_lists_without_end(tmp_path: Path) -> None:
    numbers = pa.repeat(pa.scalar(0, pa.int32()), 40_000_000)
    endless = pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)
    found = store(tmp_path, numbers=endless)
    assert (tmp_path / NAME).stat().st_size < 100_000
    with pytest.raises(ParquetError, match="column numbers: it has 40,000,000 values"):
        list(found.programs())


def test_a_module_that_a_dictionary_repeats(tmp_path: Path) -> None:
    store(tmp_path)
    places = pa.repeat(pa.scalar(0, pa.int32()), 100_000)
    module = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 100_000]))
    words = pa.DictionaryArray.from_arrays(places, pa.array([""]))
    table = pa.table([words, words, module], ["source", "workload", "module"])
    pq.write_table(table, tmp_path / "workloads-0.parquet", store_schema=False)
    with pytest.raises(ParquetError, match=r"column module: it decodes to 10,000,000,000 bytes"):
        query(RecordStore(tmp_path), "SELECT module FROM workloads")
    assert query(RecordStore(tmp_path), "SELECT count(*) FROM programs")[1] == [(1,)]


@pytest.mark.parametrize(
    "name", [NAME, "tasks-0.parquet", "part-00000.parquet", "run-0.jsonl", "workloads-0.parquet"]
)
def test_a_pipe_in_a_store_is_refused_at_once(tmp_path: Path, name: str) -> None:
    store(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(NotRegular, match=f"{name} cannot be read: it is a FIFO"):
        query(RecordStore(tmp_path), "SELECT count(*) FROM programs, workloads")
