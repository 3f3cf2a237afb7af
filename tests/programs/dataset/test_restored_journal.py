"""A published data set gives back the journal it was made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_net.cli.main import main
from graph_net.programs.collection.journal import ProgramJournal
from graph_net.programs.dataset.export import publish
from graph_net.programs.dataset.restore import read_published, restore_journal
from graph_net.programs.formats import Format
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels
from graph_net.results import Failure, Program, Stage, Symptom, program_to_json
from programs.dataset.plain_programs import collected, programs


def published(folder: Path, journal: Path) -> Path:
    (folder / "records").mkdir()
    assert add_file(folder / "records", journal, Format.COLLECTED, Labels()) is not None
    publish(folder / "records", folder / "set")
    return folder / "set"


def test_a_restored_journal_is_the_one_that_was_published(tmp_path: Path) -> None:
    platform = published(tmp_path, collected(tmp_path / "a.jsonl"))
    assert restore_journal(platform, tmp_path / "work" / "programs.jsonl") == len(programs())
    first = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    again = [
        json.loads(line) for line in (tmp_path / "work/programs.jsonl").read_text().splitlines()
    ]
    for line in (*first, *again):  # a masked message, made anew
        if line["failure"]:
            line["failure"].pop("signature")
    assert again == first


def test_a_collection_takes_what_was_restored_as_measured(tmp_path: Path) -> None:
    platform = published(tmp_path, collected(tmp_path / "a.jsonl"))
    restore_journal(platform, tmp_path / "b.jsonl")
    before, after = (ProgramJournal(tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    assert after.outcomes == before.outcomes


@pytest.mark.parametrize(("message", "signal"), [("killed by SIGSEGV", 11), ("gone", 9)])
def test_a_crash_has_the_signal_that_its_message_names(
    tmp_path: Path, message: str, signal: int
) -> None:
    one = programs()[0]
    crash = Failure(Stage.FIRST_RUN, Symptom.CRASH, message, signal=11)
    journal = tmp_path / "a.jsonl"
    program = Program.from_log(one.task, one.schedule, (), crash, "", 0.5, 1.7948e9)
    journal.write_text(program_to_json(program) + "\n")
    (found,) = read_published(published(tmp_path, journal))
    assert found.failure is not None
    assert (found.failure.symptom, found.failure.signal) == (Symptom.CRASH, signal)


def test_a_journal_that_is_there_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    platform = published(tmp_path, collected(tmp_path / "a.jsonl"))
    journal = tmp_path / "programs.jsonl"
    with pytest.raises(SystemExit) as stop:
        main(["programs", "restore", str(platform), "-o", str(journal)])
    assert stop.value.code == 0
    kept = journal.read_bytes()
    with pytest.raises(SystemExit) as stop:
        main(["programs", "restore", str(platform), "-o", str(journal)])
    assert stop.value.code == 1
    assert "name another file" in capsys.readouterr().err
    assert journal.read_bytes() == kept
