"""Of several records of one key the last stored counts, whatever their clocks say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_net.api.query import query
from graph_net.report.page_rows import read_entries
from graph_net.results import Record, RecordError
from graph_net.score.records import read_records
from graph_net.store.record_journal import RecordJournal
from graph_net.store.records import RecordStore
from store.test_records import about, killed, slow, store_of

FUTURE = "2099-01-01T00:00:00.000+00:00"
MAKERS = {"success": about, "failed": slow, "retried": killed}


def statuses(store: RecordStore) -> dict[str, Any]:
    """What each reader says about the only key of a store: did it succeed?"""
    (samples,) = read_records(store).values()
    (entry,) = read_entries(store)
    (one,) = store.records()
    return {
        "query": query(store, "SELECT status FROM records")[1] == [("success",)],
        "score": bool(samples.timed.any()),
        "report": entry.failure is None,
        "records": one.failure is None,
        "bench --retry": store.final_keys(retry=True) == {one.key},
    }


@pytest.mark.parametrize("compacted", [False, True])
def test_a_time_in_the_future_hides_no_later_success(tmp_path: Path, compacted: bool) -> None:
    store = store_of(tmp_path, [slow("a", FUTURE)])
    if compacted:
        store.compact()
    store = store_of(tmp_path, [about("a", "2026-01-01")])
    assert set(statuses(store).values()) == {True}
    store.compact()
    assert set(statuses(store).values()) == {True}


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(MAKERS)),
            st.sampled_from(["", "1970-01-01", "2026-01-01", FUTURE, "no time"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_every_reader_takes_the_last_one_stored(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    for kind, started, compact in story:
        store = store_of(folder, [MAKERS[kind]("a", started)])
        if compact:
            store.compact()
    assert set(statuses(RecordStore(folder)).values()) == {story[-1][0] == "success"}
    done = RecordStore(folder).final_keys()
    assert bool(done) == (story[-1][0] != "retried")


def test_parts_are_ordered_by_their_number_not_by_its_digits(tmp_path: Path) -> None:
    for number, one in ((99999, slow("a", FUTURE)), (100000, about("a"))):
        store = store_of(tmp_path, [one])
        store.compact()
        os.rename(max(store.parts(), key=lambda part: part.stat().st_mtime_ns),
                  tmp_path / f"part-{number}.parquet")  # fmt: skip
    assert set(statuses(store).values()) == {True}
    store_of(tmp_path, [about("b")]).compact()
    assert [part.stem for part in store.parts()] == ["part-99999", "part-100000", "part-100001"]


def test_a_journal_named_by_a_wrong_clock_comes_first(tmp_path: Path) -> None:
    """Journals once had a time alone in their names."""
    with RecordJournal(tmp_path / "run-20991231T000000000000-1.jsonl") as journal:
        journal.add(slow("a", FUTURE))
    store = store_of(tmp_path, [about("a")])
    assert set(statuses(store).values()) == {True}


def test_a_key_twice_in_one_part_counts_once(tmp_path: Path) -> None:
    store = store_of(tmp_path, [slow("a", FUTURE), about("b"), about("a"), about("c")])
    store.compact()
    store = store_of(tmp_path, [slow("b")])
    asked = "SELECT graph, status FROM records ORDER BY graph"
    found = [("a", "success"), ("b", "failed"), ("c", "success")]
    assert query(store, asked)[1] == found
    assert sorted((one.subject.name, one.failure is None) for one in store.records()) == [
        ("a", True), ("b", False), ("c", True)]  # fmt: skip


def test_a_part_without_a_number_is_named(tmp_path: Path) -> None:
    store = store_of(tmp_path, [about("a")])
    store.compact()
    (part,) = store.parts()
    part.rename(tmp_path / "part-copy.parquet")
    with pytest.raises(RecordError, match=r"part-copy\.parquet is not named part-NUMBER"):
        store.parts()


def test_records_come_in_the_order_of_storing(tmp_path: Path) -> None:
    names: list[str] = []
    made: list[Record] = [about("a", FUTURE), about("b", ""), about("c", "1970-01-01")]
    for one in made:
        store_of(tmp_path, [one]).compact()
        names.append(one.subject.name)
    store = RecordStore(tmp_path)
    assert [one.subject.name for one in store.records()] == names
    assert pq.read_table(store.parts()[0])["started"].to_pylist() == [FUTURE]
