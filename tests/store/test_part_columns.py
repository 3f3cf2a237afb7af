"""Parquet files with other columns than ours are named in one sentence by whatever reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graph_net.api.query import query
from graph_net.cli.main import main
from graph_net.compare import compare
from graph_net.programs.store.columns import FORMAT_VERSION
from graph_net.programs.store.columns import SCHEMA as PROGRAMS
from graph_net.results import Json, RecordError
from graph_net.score import load
from graph_net.store.records import RecordStore
from store.test_records import about, slow, store_of


@pytest.fixture
def part(tmp_path: Path) -> Path:
    store = store_of(tmp_path, [about("a"), slow("b")])
    store.compact()
    return store.parts()[0]


def changed(part: Path, name: str, values: Any) -> None:
    table = pq.read_table(part)
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, name, pa.array(values)), part)


READERS = {
    "query": lambda place: ["query", "SELECT * FROM records", "-r", str(place)],
    "score": lambda place: ["score", str(place)],
    "compare": lambda place: ["compare", str(place), str(place)],
    "bisect": lambda place: ["bisect", "--records", str(place)],
}


OTHER_TYPES = {
    "symptom": [1, 2],
    "speedup": ["fast", None],
    "device": [[1], [2]],
    "rest": [b"", b""],
}
READ = [
    (verb, name) for verb in READERS for name in OTHER_TYPES if (verb, name) != ("score", "rest")
]
"""Which verb reads which column."""


@pytest.mark.parametrize(("verb", "name"), READ)
def test_a_column_of_another_type_is_named(
    part: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    changed(part, name, OTHER_TYPES[name])
    with pytest.raises(SystemExit) as caught:
        main(READERS[verb](part.parent))
    assert caught.value.code
    said = capsys.readouterr().err
    assert f"{part.name} is damaged: its column {name} is " in " ".join(said.split())
    assert "Traceback" not in said


def test_a_column_that_is_absent_is_named(part: Path) -> None:
    pq.write_table(pq.read_table(part).drop_columns(["symptom"]), part)
    with pytest.raises(RecordError, match="it has no column symptom"):
        RecordStore(part.parent).final_keys()


def test_a_file_that_is_no_parquet_is_named(part: Path) -> None:
    part.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(RecordError, match=r"part-00000\.parquet is not a Parquet file"):
        RecordStore(part.parent).final_keys()


@pytest.mark.parametrize(
    "rest", ["", "[]", "3", '{"timing": 1}', '{"timing": {}}', "[" * 9999, "{"]
)
def test_a_row_that_is_no_record_is_named(part: Path, rest: str) -> None:
    changed(part, "rest", [rest, rest])
    with pytest.raises(RecordError, match=r"part-00000\.parquet, record 1: "):
        list(RecordStore(part.parent).records())


@pytest.mark.parametrize("options", ["", "[1]", "3", "null", "{", "[" * 9999])
def test_options_that_are_no_object_are_named(part: Path, options: str) -> None:
    changed(part, "options", [options, options])
    for ask in (lambda: load([part.parent]), lambda: compare(part, between=("inductor", "tvm"))):
        with pytest.raises(RecordError, match="the options of inductor are not a JSON object"):
            ask()


def test_programs_with_a_column_of_another_type_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = PROGRAMS.empty_table()
    place = PROGRAMS.names.index("total")
    wrong = table.set_column(place, "total", pa.array([], pa.string()))
    pq.write_table(wrong, tmp_path / f"programs-{FORMAT_VERSION}-x.parquet")
    with pytest.raises(SystemExit):
        main(["query", "SELECT count(*) FROM programs", "-r", str(tmp_path)])
    said = " ".join(capsys.readouterr().err.split())
    assert "is damaged: its column total is string, not int64" in said


def test_a_part_written_before_graph_breaks_were_columns_is_read_with_nulls(tmp_path: Path) -> None:
    said: dict[str, Json] = {"compiled_graphs": 2, "graph_breaks": 1}
    said["graph_break_reasons"] = ["1 × why", "2 × how"]
    store = store_of(tmp_path, [replace(about("old"), environment=said)])
    store.compact()
    (part,) = store.parts()
    pq.write_table(pq.read_table(part).drop_columns([*said]), part)
    with store.journal() as journal:
        journal.add(replace(about("new"), environment=said))
    pieces = "compiled_graphs, graph_breaks, graph_break_reasons"
    asked = f"SELECT graph, {pieces} FROM records ORDER BY graph"  # noqa: S608
    rows = [("new", 2, 1, "1 × why; 2 × how"), ("old", None, None, None)]
    assert query(store, asked)[1] == rows
    store.compact()
    assert query(store, asked)[1] == rows
    assert [record.subject.name for record in store.records()] == ["old", "new"]


NO_MEASUREMENT: list[tuple[str, Any]] = [
    ("speedup", 1e308),
    ("noise", 5e-324),
    ("noise_low", 0.0),
    ("noise_high", float("inf")),
    ("candidate_seconds", float("nan")),
    ("candidate_peak_bytes", 1 << 62),
]


@pytest.mark.parametrize("verb", ["score", "compare"])
@pytest.mark.parametrize(("name", "value"), NO_MEASUREMENT)
def test_a_number_that_no_measurement_gives_counts_as_none(
    part: Path, verb: str, name: str, value: Any
) -> None:
    changed(part, name, [value, value])
    assert RecordStore(part.parent).table([name])[name].null_count == 2
    with pytest.raises(SystemExit) as caught:
        main(READERS[verb](part.parent))
    assert not caught.value.code
