"""A run that goes on: read from where the last look ended."""

from __future__ import annotations

from pathlib import Path

from graph_net.results import to_json
from graph_net.serve.live import RunProgress, is_running
from graph_net.store.lock import hold_lock
from graph_net.store.records import RecordStore
from report.synthetic import synthetic


def test_records_are_counted_as_they_come(tmp_path: Path) -> None:
    store, records = RecordStore(tmp_path), synthetic(6)
    progress = RunProgress(tmp_path)
    assert progress.look()["measured"] == 0
    with store.journal() as journal:
        for count, record in enumerate(records, 1):
            journal.add(record)
            state = progress.look()
            assert state["measured"] == count
            assert state["latest"][0]["graph"] == record.subject.name
    assert sum(count for _, _, count in state["counts"]) == len(records)


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    records = synthetic(3)
    journal = tmp_path / "run-0.jsonl"
    journal.write_text(f"{to_json(records[0])}\n")
    progress = RunProgress(tmp_path)
    progress.look()
    lines = journal.read_bytes()
    journal.write_bytes(b"x" * (len(lines) - 1) + b"\n" + to_json(records[1]).encode() + b"\n")
    assert progress.look()["measured"] == 2


def test_a_torn_line_is_counted_when_it_is_whole(tmp_path: Path) -> None:
    line = f"{to_json(synthetic(1)[0])}\n".encode()
    journal = tmp_path / "run-0.jsonl"
    journal.write_bytes(line[:50])
    progress = RunProgress(tmp_path)
    assert progress.look()["measured"] == 0
    journal.write_bytes(line)
    assert progress.look()["measured"] == 1


def test_a_journal_that_became_a_part_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "run-0.jsonl").write_text(f"{to_json(synthetic(1)[0])}\n")
    progress = RunProgress(tmp_path)
    assert progress.look()["measured"] == 1
    RecordStore(tmp_path).compact()
    assert progress.look()["measured"] == 0


def test_damage_does_not_end_it(tmp_path: Path) -> None:
    (tmp_path / "run-0.jsonl").write_text(f"{{}}\nno\n{to_json(synthetic(1)[0])}\n")
    assert RunProgress(tmp_path).look()["measured"] == 1


def test_a_run_is_running_as_long_as_it_holds_its_lock(tmp_path: Path) -> None:
    assert not is_running(tmp_path)
    with hold_lock(tmp_path):
        assert is_running(tmp_path)
    assert not is_running(tmp_path)
    (tmp_path / ".lock").write_text("")
    assert not is_running(tmp_path)
