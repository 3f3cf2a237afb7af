"""Parts that an earlier version wrote read as if this one had written them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compare.some_runs import timed
from graph_net.api.query import query
from graph_net.compare import Change, Reason, compare
from graph_net.results import Record, RecordError, Stage, Symptom
from graph_net.score import load, score
from graph_net.store.record_columns import SCHEMA, WITHHELD, row_of
from graph_net.store.records import RecordStore
from score.some_samples import output, record

NOISY = record("noisy", (Stage.MEASURE, Symptom.TOO_NOISY), outputs=(output(0.5), output(-3.0)))
RECORDS = [record("good"), NOISY, record("crash", (Stage.COMPILE, Symptom.CRASH))]


def older(path: Path, records: list[Record]) -> Path:
    """A store whose part has the columns of the first version."""
    rows = []
    for each in records:
        row = row_of(each)
        if each.too_noisy:
            row |= dict(zip(WITHHELD, (9.0, 8.0, 10.0, "faster"), strict=True))
            row |= {"status": "failed", "t": None}
        rows.append({name: value for name, value in row.items() if name != "noise"})
    schema = pa.schema([field for field in SCHEMA if field.name != "noise"])
    path.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path / "part-00000.parquet")
    return path


def test_its_columns_are_those_of_today(tmp_path: Path) -> None:
    old = RecordStore(older(tmp_path / "old", RECORDS)).table()
    assert (
        old.to_pylist()
        == pa.Table.from_pylist([row_of(each) for each in RECORDS], SCHEMA).to_pylist()
    )


def test_its_records_are_read(tmp_path: Path) -> None:
    assert list(RecordStore(older(tmp_path / "old", RECORDS)).records()) == RECORDS


def test_sql_sees_no_speedup_of_what_was_too_noisy(tmp_path: Path) -> None:
    store = RecordStore(older(tmp_path / "old", RECORDS))
    (row,) = query(store, "SELECT t, speedup, noise FROM records WHERE status = 'too_noisy'")[1]
    assert row == (0.5, None, 1.0)


def test_what_was_too_noisy_is_scored_by_its_outputs(tmp_path: Path) -> None:
    (found,) = load([older(tmp_path / "old", [record("good"), NOISY])]).values()
    assert found.too_noisy == 1
    assert list(score(found, ts=[0, 1]).correct_share[0]) == [0.5, 1.0]


def test_what_was_too_noisy_is_compared_by_its_outputs(tmp_path: Path) -> None:
    noisy = record("g", (Stage.MEASURE, Symptom.TOO_NOISY))
    found = compare(older(tmp_path / "a", [noisy]), older(tmp_path / "b", [timed("g")]))
    (row,) = found.rows([0])
    assert (row.change, row.reason, row.levels[0]) == (Change.AMBIGUOUS, Reason.TOO_NOISY, -5.0)


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    path = older(tmp_path / "old", [NOISY]) / "part-00000.parquet"
    table = pq.read_table(path)
    rest = pa.array(["{}"], pa.string())
    pq.write_table(table.set_column(table.column_names.index("rest"), "rest", rest), path)
    with pytest.raises(RecordError, match="not a record"):
        RecordStore(tmp_path / "old").table(["t"])


def before_blocks(path: Path, records: list[Record]) -> Path:
    """A store whose part has the columns of the second version: all but ``per_block``."""
    path.mkdir(parents=True)
    table = pa.Table.from_pylist([row_of(each) for each in records], schema=SCHEMA)
    pq.write_table(table.drop_columns(["per_block"]), path / "part-00000.parquet")
    return path


def test_samples_of_a_block_are_read_where_no_column_has_them(tmp_path: Path) -> None:
    broken = record("broken", environment={"compiled_graphs": 2, "graph_breaks": 1})
    records = [timed("a"), broken, NOISY, record("crash", (Stage.COMPILE, Symptom.CRASH))]
    store = RecordStore(before_blocks(tmp_path / "old", records))
    table = store.table()
    assert table.to_pylist() == pa.Table.from_pylist(list(map(row_of, records)), SCHEMA).to_pylist()
    asked = "SELECT graph, per_block, graph_breaks, speedup FROM records ORDER BY graph"
    names = ("graph", "per_block", "graph_breaks", "speedup")
    wanted = sorted(tuple(row_of(each).get(name) for name in names) for each in records)
    assert query(store, asked)[1] == wanted
    assert list(store.records()) == records


def test_speeds_are_compared_where_no_column_has_the_samples_of_a_block(tmp_path: Path) -> None:
    found = compare(before_blocks(tmp_path / "a", [timed("g", 2.0)]),
                    before_blocks(tmp_path / "b", [timed("g", 4.0, seed=1)]))  # fmt: skip
    (row,) = found.rows([0])
    assert row.change is Change.FASTER


def test_a_part_of_each_version_and_a_journal_are_one_table(tmp_path: Path) -> None:
    place = older(tmp_path / "all", [record("first")])
    (before_blocks(tmp_path / "second", [record("second")]) / "part-00000.parquet").rename(
        place / "part-00001.parquet"
    )
    for names in (["third", "first"], ["second"]):
        store = RecordStore(place)
        with store.journal() as journal:
            for name in names:
                journal.add(record(name, speedup=3.0))
        if "third" in names:
            store.compact()
    found = query(store, "SELECT graph, speedup, noise, per_block FROM records ORDER BY 1")[1]
    assert found == [("first", 3.0, 1.0, 4), ("second", 3.0, 1.0, 4), ("third", 3.0, 1.0, 4)]
