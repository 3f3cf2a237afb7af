"""The files of a collection of Triton programs: gone on with, cut off, damaged, read back."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from graph_net.programs.formats import Damage, Format, detect, read_programs
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.triton import H200
from graph_net.programs.triton.collect import main
from graph_net.programs.triton.program_file import ProgramWriter, already
from graph_net.programs.triton.workers import PendingProgram
from graph_net.results import Failure, Program, Stage, Symptom
from programs.triton.triton_collecting import WORKS, collect, compiles, is_first, programs


def test_a_later_run_does_what_is_left(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl.gz", tmp_path / "2.jsonl.gz"
    collect(first, each=1)
    collect(second, each=3, done=[first])
    before = {(program.task.workload, program.schedule) for program in programs(first)}
    after = {(program.task.workload, program.schedule) for program in programs(second)}
    assert (len(before), len(after)) == (6, 12)
    assert not before & after


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=1, done=[path])  # it is not there yet
    before = programs(path)
    collect(path, each=3, done=[path])
    after = programs(path)
    assert (len(before), len(after)) == (6, 18)
    assert after[:6] == before
    assert len({(program.task.workload, program.schedule) for program in after}) == 18


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_that_was_cut_off_is_gone_on_with(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=2)
    whole = path.read_bytes()
    lines = gzip.decompress(whole).splitlines(keepends=True)
    cut = b"".join(lines[:5]) + lines[5][:40]
    path.write_bytes(gzip.compress(cut) if compressed else cut)
    collect(path, each=2, done=[path])
    assert len(programs(path)) == 12
    path.write_bytes(whole[:-12])
    collect(path, each=3, done=[path])
    assert len(programs(path)) == 18


def test_a_file_that_is_there_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=1)
    before = path.read_bytes()
    assert main(["-o", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--done {path}" in line
    assert main(["-o", str(tmp_path / "new.gz"), "--done", str(tmp_path / "none.gz")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(FileExistsError):
        ProgramWriter(path, H200.text, {})
    assert path.read_bytes() == before
    assert not (tmp_path / "new.gz").exists()


def test_a_file_that_was_cut_off_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    collect(tmp_path / "out.jsonl.gz")
    lines = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    assert len(already([path])) == 5


def test_what_is_flushed_survives_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl.gz"
    monkeypatch.setattr("graph_net.programs.triton.program_file.EVERY", 0.0)
    writer = ProgramWriter(path, H200.text, {})
    writer.program(WORKS[0], '{"block_m":64}', [1e-3], 0.5, {})
    cut = path.read_bytes()
    (tmp_path / "cut.gz").write_bytes(cut)
    (_, program), (_, damage) = read_collected(tmp_path / "cut.gz")
    assert isinstance(program, Program)
    assert isinstance(damage, Damage)
    assert "breaks off" in damage.reason
    writer.close()


@pytest.mark.parametrize(
    "change",
    [
        {"v": "triton-1"},
        {"task": {"format": "triton", "workload": ""}},
        {"costs": []},
        {"costs": [0.0]},
        {"schedule": []},
        {"schedule": '{"block_m": 64}'},
        {"schedule": "[" * 30 + "]" * 30},
        {"extra": "{"},
        {"costs": [1e-3] * 70000},
        {"measured": 1e12},
        {"failure": {"stage": "compile", "symptom": "boredom", "message": "x"}},
        {"failure": {"stage": "compile", "symptom": "crash", "message": "x"}},
        {"measured": -1},
    ],
)
def test_a_line_that_is_wrong_is_damage(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "out.jsonl.gz"
    writer = ProgramWriter(path, H200.text, {})
    writer.program(WORKS[0], '{"block_m":64}', [1e-3], 0.5, {})
    writer.close()
    (line,) = gzip.decompress(path.read_bytes()).splitlines()
    changed = tmp_path / "changed.jsonl"
    changed.write_text(json.dumps({**json.loads(line), **change}))
    ((_, found),) = read_collected(changed)
    assert isinstance(found, Damage)


def test_a_collection_is_known_by_its_lines_and_goes_into_a_store(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"

    def fails_once(piece: PendingProgram) -> dict[str, Any]:
        failure = Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "too much shared memory")
        return {"failure": failure} if is_first(piece) else compiles(piece)

    collect(path, compile=fails_once)
    kind = detect(path)
    assert kind is Format.COLLECTED
    store = ProgramStore(tmp_path)
    added = store.add(path, read_programs(path, kind), Labels(device="H200"))
    assert (added.programs, added.damaged) == (18, 0)
    kept = {program.schedule: program for _, program in store.programs()}
    for program in programs(path):
        assert kept[program.schedule].costs == program.costs
        assert kept[program.schedule].failure == program.failure
        assert kept[program.schedule].task.details == program.task.details
