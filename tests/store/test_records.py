"""Records on disk: journals, parts, which of two wins, and what is measured again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from graph_net.api.query import query
from graph_net.cli.main import main
from graph_net.formats.graphnet.log import LogHeader, log_lines
from graph_net.results import (
    BLAMELESS,
    Failure,
    ProtocolSettings,
    Record,
    RecordError,
    Stage,
    Subject,
    Symptom,
)
from graph_net.store import records as module
from graph_net.store.record_columns import record_of, row_of
from graph_net.store.record_journal import RecordJournal, read_journal
from graph_net.store.records import RecordStore
from results.test_record import record


def about(name: str, started: str = "2026-01-01", **changes: Any) -> Record:
    return record(subject=Subject(name, "s", name), started=started, **changes)


def killed(name: str, started: str = "2026-01-01") -> Record:
    failure = Failure(Stage.LOAD, Symptom.INFRASTRUCTURE, "killed from outside")
    return about(name, started, timing=None, outputs=(), failure=failure)


def slow(name: str, started: str = "2026-01-01") -> Record:
    failure = Failure(Stage.COMPILE, Symptom.TIMEOUT, "took too long")
    return about(name, started, timing=None, outputs=(), failure=failure)


def told(name: str) -> Record:
    """A record with the settings of its protocol."""
    settings = ProtocolSettings(2, {"seconds": 5.0, "seed": 0})
    return about(name, protocol=settings.hash, settings=settings)


def store_of(path: Path, *runs: list[Record]) -> RecordStore:
    store = RecordStore(path)
    for run in runs:
        with store.journal() as journal:
            for one in run:
                journal.add(one)
    return store


@pytest.mark.parametrize("one", [about("a"), killed("a"), slow("a"), told("a")])
def test_a_row_gives_the_record_back(one: Record) -> None:
    assert record_of(row_of(one)) == one


def test_compacting_keeps_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART_RECORDS", 2)
    store = store_of(tmp_path, [about("a"), about("b"), about("c")], [about("d")])
    before = list(store.records())
    store.compact()
    assert not store.journals()
    assert len(store.parts()) == 2
    assert list(store.records()) == before


def test_the_latest_of_a_key_wins_everywhere(tmp_path: Path) -> None:
    store = store_of(tmp_path, [killed("a", "2026-01-01")])
    store.compact()
    store = store_of(tmp_path, [about("a", "2026-01-02")])
    (one,) = store.records()
    assert one.failure is None
    assert query(store, "SELECT status FROM records")[1] == [("success",)]
    store.compact()
    assert query(store, "SELECT status FROM records")[1] == [("success",)]


def test_what_a_kill_left_half_done_between_part_and_journal_counts_once(tmp_path: Path) -> None:
    store = store_of(tmp_path, [about("a")])
    (journal,) = store.journals()
    text = journal.read_bytes()
    store.compact()
    journal.write_bytes(text)  # the part was written, the journal not yet removed
    assert len(list(store.records())) == 1
    assert query(store, "SELECT count(*) FROM records")[1] == [(1,)]


def test_noise_and_infrastructure_are_measured_again_and_failures_on_demand(tmp_path: Path) -> None:
    store = store_of(tmp_path, [about("a"), killed("b"), slow("c")])
    for _ in range(2):
        assert store.final_keys() == {about("a").key, slow("c").key}
        assert store.final_keys(retry=True) == {about("a").key}
        store.compact()


def test_a_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for _ in range(2):
        with RecordJournal(path) as journal:
            journal.add(about("a"))
        with path.open("ab") as file:
            file.write(b'{"subject": {"na')
    with RecordJournal(path) as journal:
        journal.add(about("b"))
    assert [one.subject.name for one in read_journal(path)] == ["a", "a", "b"]


def test_ingesting_takes_the_try_that_worked(tmp_path: Path) -> None:
    path = tmp_path / "there.jsonl"
    with RecordJournal(path) as journal:
        journal.add(killed("a", "2026-01-01"))
        journal.add(about("a", "2026-01-02"))
    with pytest.raises(SystemExit):
        main(["ingest", str(path), "-o", str(tmp_path / "records")])
    (one,) = RecordStore(tmp_path / "records").records()
    assert one.failure is None


def test_a_directory_without_records_says_how_to_make_some(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="graph-net bench"):
        query(RecordStore(tmp_path), "SELECT 1")


@pytest.mark.parametrize("symptom", sorted(BLAMELESS | {Symptom.TOO_NOISY}))
def test_a_log_blames_nobody_for_what_is_nobodys_fault(symptom: Symptom) -> None:
    stage = Stage.VERIFY if symptom is Symptom.NONDETERMINISTIC else Stage.MEASURE
    one = dataclasses.replace(about("a"), failure=Failure(stage, symptom, "why"))
    lines = list(log_lines(one, "a", LogHeader()))
    if symptom is Symptom.TOO_NOISY:
        assert any("status: success" in line for line in lines)
    else:
        assert lines == [f"a is left out: {stage} {symptom}: why"]
