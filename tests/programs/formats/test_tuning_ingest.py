"""``graph-net ingest`` of tuners' files, and questions to the table ``programs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from graph_net.api.query import query
from graph_net.cli.main import main
from graph_net.programs.formats import read_ansor
from graph_net.programs.store import program_store as stored
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.store.records import RecordStore
from programs.formats.tuning_samples import ansor, autotvm, lines, meta, t4


def call(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return stop.value.code


def ask(folder: Path, question: str) -> list[tuple[Any, ...]]:
    return query(RecordStore(folder), question)[1]


def test_every_format_ends_in_the_same_columns(tmp_path: Path) -> None:
    lines(tmp_path / "database_workload.json", ["123", "QQ=="])
    files = [
        lines(tmp_path / "ansor", ansor(), ansor(r=[[1e10], 7, 5.0, 9])),
        lines(tmp_path / "autotvm", autotvm()),
        lines(tmp_path / "database_tuning_record.json", meta()),
        lines(tmp_path / "t4", {"results": [t4()]}),
        tmp_path / "database_workload.json",
    ]
    out = tmp_path / "records"
    words = ["--device", "mine", "--kernel", "conv", "-o", str(out)]
    assert call("ingest", *map(str, files), *words) == 0
    question = (
        "SELECT format, kernel, device_name, status, stage, symptom, cost, len(costs) "
        "FROM programs ORDER BY format, line"
    )
    assert ask(out, question) == [
        ("ansor", "matmul", "mine", "success", None, None, 0.375, 2),
        ("ansor", "matmul", "mine", "failed", "first_run", "timeout", None, 0),
        ("autotvm", "dense.x86", "mine", "success", None, None, 0.5, 1),
        ("metaschedule", "", "mine", "success", None, None, 0.375, 2),
        ("t4", "conv", "mine", "success", None, None, 0.003, 2),
    ]
    assert ask(out, "SELECT count(*) FROM records") == [(0,)]


def test_a_database_can_be_written_again(tmp_path: Path) -> None:
    known = lines(tmp_path / "database_workload.json", ["123", "QQ=="], b"[", ["45", "QUJD"])
    rows = lines(tmp_path / "database_tuning_record.json", meta(0), meta(2, [0.125]))
    out = tmp_path / "records"
    for _ in range(2):
        assert call("ingest", str(rows), str(known), "-o", str(out)) == 0
    question = "SELECT workload, module, cost FROM programs JOIN workloads USING (workload)"
    assert sorted(ask(out, question)) == [("123", "QQ==", 0.375), ("45", "QUJD", 0.125)]


def test_a_file_is_taken_once_and_again_where_it_is_told_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = lines(tmp_path / "a", ansor(), b"{", ansor()), tmp_path / "records"
    call("ingest", str(path), "-o", str(out))
    said = capsys.readouterr().err
    assert "2 programs added, 1 damaged" in said
    assert f"line 2, byte {path.read_bytes().index(b'{' + bytes([10]))}: not JSON" in said
    call("ingest", str(path), "-o", str(out))
    assert "already there" in capsys.readouterr().err
    (tasks,) = ask(out, "SELECT list(DISTINCT task) FROM programs")
    call("ingest", str(path), "-o", str(out), "--device", "k80", "--no-schedules")
    found = ask(out, "SELECT device_name, schedule, program IS NULL FROM programs")
    assert found == [("k80", None, False)] * 2
    assert ask(out, "SELECT list(DISTINCT task) FROM programs") != [tasks]


def test_the_same_schedule_is_the_same_program_on_another_device(tmp_path: Path) -> None:
    out = tmp_path / "records"
    for device, cost in (("a", 0.5), ("b", 0.25)):
        path = lines(tmp_path / device, ansor(r=[[cost], 0, 1, 5]))
        call("ingest", str(path), "-o", str(out), "--device", device)
    question = "SELECT count(DISTINCT program), count(DISTINCT task), max(cost) FROM programs"
    assert ask(out, question) == [(1, 2, 0.5)]


def test_only_a_few_damaged_lines_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lines(tmp_path / "a", ansor(), *[b"["] * 12)
    call("ingest", str(path), "-o", str(tmp_path / "records"))
    said = capsys.readouterr().err
    assert said.count("not JSON") == stored.EXAMPLES
    assert f"and {12 - stored.EXAMPLES} more" in said


def test_a_file_without_a_program_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lines(tmp_path / "a", ansor(r=[[-1], 0, 1, 5]))
    assert call("ingest", str(path), "-o", str(tmp_path / "records"))
    assert "no program that can be read; line 1: expected a cost" in capsys.readouterr().err
    assert [entry.name for entry in (tmp_path / "records").iterdir()] == []


def test_row_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "ROW_GROUP", 4)
    path = lines(tmp_path / "a", *[ansor()] * 10)
    store = ProgramStore(tmp_path)
    assert store.add(path, read_ansor(path), Labels()).programs == 10
    (part,) = store.parts()
    sizes = [
        pq.read_metadata(part).row_group(number).num_rows
        for number in range(pq.read_metadata(part).num_row_groups)
    ]
    assert sizes == [4, 4, 2]


def test_a_wrong_question_names_the_columns_of_both_tables(tmp_path: Path) -> None:
    path = lines(tmp_path / "a", ansor())
    ProgramStore(tmp_path).add(path, read_ansor(path), Labels())
    with pytest.raises(ValueError, match=r"records \(key.* programs \(source.*cost\)"):
        ask(tmp_path, "SELECT nothing FROM programs")
