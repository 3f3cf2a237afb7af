"""Whoever is asked which result of a measurement counts gives the same answer."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graph_net as gn
from graph_net.api.query import query
from graph_net.bisect.run import select_troubled
from graph_net.cli.main import main
from graph_net.compare.choose import match_runs
from graph_net.compare.read import read_run
from graph_net.graph.work import Work
from graph_net.report.page_rows import read_entries
from graph_net.results import Record, Stage, Symptom
from graph_net.results.peaks import Peaks, identity
from graph_net.roofline.floor import headrooms
from graph_net.roofline.store import Rooflines
from graph_net.score.records import read_records
from graph_net.score.samples import ScoredGraphs
from graph_net.store.counting import KEY, counting_records
from graph_net.store.counting_rows import counting_rows
from graph_net.store.record_columns import SCHEMA, row_of
from graph_net.store.record_journal import RecordJournal
from graph_net.store.record_upgrade import ADDED
from graph_net.store.records import RecordStore
from score.some_samples import DEVICE, record
from store.test_records import store_of

FUTURE = "2099-01-01T00:00:00.000+00:00"
FAILED = (Stage.COMPILE, Symptom.EXCEPTION)
NOISY = (Stage.MEASURE, Symptom.TOO_NOISY)
Answer = set[tuple[str, str, bool]]
"""Graph, protocol, and whether the result that counts is a success."""
EXPECTED: Answer = {
    ("old", "p", True),
    ("future", "p", True),
    ("broke", "p", False),
    ("twice", "p", True),
    ("twice", "q", False),
    ("ingested", "p", True),
    ("again", "p", True),
}


def ingest(store: Path, *records: Record) -> None:
    """Add records from elsewhere, as the verb does."""
    file = store.with_name(f"{store.name}-{records[0].subject.name}-{records[0].started}.jsonl")
    with RecordJournal(file) as journal:
        for one in records:
            journal.add(one)
    with pytest.raises(SystemExit):
        main(["ingest", str(file), "-o", str(store)])


@pytest.fixture
def awkward(tmp_path: Path) -> Path:
    """A directory that has been through everything."""
    folder = tmp_path / "records"
    folder.mkdir()
    older = pa.schema([field for field in SCHEMA if field.name not in ADDED])
    rows = [row_of(record("old", FAILED)), row_of(record("old"))]
    pq.write_table(pa.Table.from_pylist(rows, schema=older), folder / "part-00000.parquet")
    store_of(folder, [record("future", FAILED, started=FUTURE)]).compact()
    store_of(folder, [record("broke"), record("twice"), record("again", NOISY)]).compact()
    ingest(folder, record("ingested", started="2026-02-01T00:00:00+00:00"))
    ingest(folder, record("ingested", FAILED, started="2026-01-01T00:00:00+00:00"))
    ingest(folder, record("ingested", FAILED, started=FUTURE))
    shutil.copy(folder / "part-00002.parquet", folder / "part-00007.parquet")
    store_of(
        folder,
        [record("future", started="2026-01-01"), record("twice", FAILED, protocol="q")],
        [record("broke", FAILED, started="1970-01-01"), record("again")],
    )
    return folder


def of_curves(curves: Mapping[str, ScoredGraphs]) -> Answer:
    protocols = {f"inductor protocol {name}": name for name in "pq"}
    return {
        (str(graph), protocols[label], bool(timed))
        for label, samples in curves.items()
        for graph, timed in zip(samples.graph, samples.timed, strict=True)
    }


def of_table(table: pa.Table) -> Answer:
    rows = table.select(["graph", "protocol", "symptom"]).to_pylist()
    found = [(row["graph"], row["protocol"], row["symptom"] is None) for row in rows]
    assert len(found) == len(set(found))
    return set(found)


def of_records(records: Any) -> Answer:
    return {(one.subject.name, one.protocol, one.failure is None) for one in records}


COUNTING = f"""
SELECT * FROM stored QUALIFY row_number() OVER (
    PARTITION BY {", ".join(f"coalesce({name}, '')" for name in KEY)} ORDER BY place DESC) = 1
"""  # noqa: S608 - names of this program
"""The definition of what counts, in SQL."""


def of_sql(store: RecordStore) -> Answer:
    table = store.table()
    stored = table.append_column("place", pa.array(range(table.num_rows)))
    with duckdb.connect(":memory:") as connection:
        connection.register("stored", stored)
        return of_table(connection.sql(COUNTING).to_arrow_table())


def of_query(store: RecordStore) -> Answer:
    _, rows = query(store, "SELECT graph, protocol, status = 'success' FROM records")
    assert len(rows) == len(set(rows))
    return {(graph, protocol, bool(success)) for graph, protocol, success in rows}


def of_report(store: RecordStore) -> Answer:
    return {(e.subject.name, e.protocol, e.failure is None) for e in read_entries(store)}


def of_compare(store: RecordStore) -> Answer:
    run = read_run(store.path)
    pairs = match_runs(run, run)
    assert (pairs.only_first, pairs.only_second) == (0, 0)
    assert pairs.first.table.equals(pairs.second.table)
    assert of_table(pairs.first.table) == of_table(run.table)
    return of_table(run.table)


def of_library_rows(store: RecordStore) -> Answer:
    records = gn.Records(store.path)
    frame = records.to_pandas()
    assert len(records) == len(frame)
    return of_table(pa.Table.from_pandas(frame[["graph", "protocol", "symptom"]]))


def of_library_comparison(store: RecordStore) -> Answer:
    records = gn.Records(store.path)
    comparison = gn.compare(records, records)
    assert comparison.pairs.first.table.equals(comparison.pairs.second.table)
    assert len(comparison) == comparison.pairs.first.table.num_rows
    return of_table(comparison.pairs.first.table)


ALL_OF_IT = {
    "records": lambda store: of_records(store.records()),
    "query": of_query,
    "SQL": of_sql,
    "score": lambda store: of_curves(read_records(store)),
    "report": of_report,
    "compare": of_compare,
    "gn.Records": lambda store: of_records(gn.Records(store.path)),
    "gn.Records.to_pandas": of_library_rows,
    "gn.Records.score": lambda store: of_curves(gn.Records(store.path).score().curves),
    "gn.compare": of_library_comparison,
}
SUCCESSES = {name for name, _, success in EXPECTED if success}


@pytest.mark.parametrize("asked", ALL_OF_IT)
@pytest.mark.parametrize("compacted", [False, True])
def test_the_answer_is_the_same(awkward: Path, asked: str, compacted: bool) -> None:
    store = RecordStore(awkward)
    if compacted:
        store.compact()
    assert ALL_OF_IT[asked](store) == EXPECTED


def test_what_is_done_is_what_counts_as_a_success(awkward: Path) -> None:
    store = RecordStore(awkward)
    wanted = {one.key for one in store.records() if one.failure is None}
    assert store.final_keys(retry=True) == wanted
    assert len(wanted) == len(SUCCESSES)
    everything = counting_records(one for one in store.records())
    assert store.final_keys() == {key for key, one in everything.items() if one.final}


def test_bisection_takes_the_failures_that_count(awkward: Path) -> None:
    found = select_troubled(RecordStore(awkward).records(), None, 1.0)
    assert of_records(found) == {answer for answer in EXPECTED if not answer[2]}


def test_floors_are_those_of_the_times_that_count(awkward: Path) -> None:
    peaks = Peaks("id", "x", 1e9, 1e10, 10**6, {"float32": 1e12})
    work = dict.fromkeys({name for name, _, _ in EXPECTED}, Work(10**6))
    known = Rooflines({identity(DEVICE): peaks}, work)
    found = headrooms(RecordStore(awkward).records(), known)
    assert sorted(one.subject.name for one in found) == sorted(SUCCESSES)


def test_two_runs_that_share_a_protocol_are_compared_under_it(tmp_path: Path) -> None:
    both = store_of(tmp_path / "both", [record("a", speedup=2), record("a", protocol="q")])
    one = store_of(tmp_path / "one", [record("a", speedup=3)])
    for first, second in ((both, one), (one, both)):
        pairs = match_runs(read_run(first.path), read_run(second.path))
        assert pairs.first.table["protocol"].to_pylist() == ["p"]
        assert pairs.second.table["protocol"].to_pylist() == ["p"]
        assert (pairs.only_first, pairs.only_second) == (0, 0)


FILES = [
    record("a", FAILED, started="2026-01-03T00:00:00+00:00"),
    record("a", started="2026-01-02T00:00:00+00:00"),
    record("a", NOISY, started="2026-01-04T00:00:00+00:00"),
    record("a", started=FUTURE),
    record("a", started="yesterday"),
]


@pytest.mark.parametrize("order", list(permutations(range(len(FILES))))[::17])
def test_files_may_be_ingested_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    for number in order:
        ingest(tmp_path / "records", FILES[number])
    (one,) = RecordStore(tmp_path / "records").records()
    assert one.started == FILES[0].started  # the latest of those that need not be measured again


STORIES = st.lists(
    st.tuples(*(st.sampled_from(values) for values in ("ab", "cd", "ef", ("", "p", None)))),
    max_size=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STORIES)
def test_the_definition_in_sql_is_the_one_in_columns(story: list[tuple[str | None, ...]]) -> None:
    columns = {name: pa.array([row[n] for row in story], pa.string()) for n, name in enumerate(KEY)}
    table = pa.table({**columns, "place": pa.array(range(len(story)), pa.int64())})
    rows = counting_rows(table)
    with duckdb.connect(":memory:") as connection:
        connection.register("stored", table)
        found = connection.sql(COUNTING).fetchall()
    wanted = range(len(story)) if rows is None else rows.tolist()
    assert sorted(row[-1] for row in found) == list(wanted)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("pq")), max_size=12))
def test_the_definition_for_records_is_the_one_in_columns(story: list[tuple[str, str]]) -> None:
    records = [record(name, protocol=p, seconds=float(n)) for n, (name, p) in enumerate(story)]
    table = pa.Table.from_pylist([row_of(one) for one in records], schema=SCHEMA)
    rows = counting_rows(table)
    counted = table if rows is None else table.take(pa.array(rows))
    wanted = {key: one.seconds for key, one in counting_records(records).items()}
    assert (
        dict(zip(*counted.select(["key", "seconds"]).to_pydict().values(), strict=True)) == wanted
    )
