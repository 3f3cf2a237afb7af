"""The file of a collection of Triton programs: continued, cut off, damaged, read back."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from graph_net.programs.collection.bundle import require_target
from graph_net.programs.collection.journal import ProgramJournal
from graph_net.programs.collection.outcome import make_program
from graph_net.programs.collection.plan import PendingProgram
from graph_net.programs.formats import Damage, Format, detect, read_programs
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.programs.triton import H200
from graph_net.results import Failure, Stage, Symptom, program_to_json
from programs.triton.some_kernels import TASKS
from programs.triton.triton_collecting import collect, compiles, is_first, programs


def test_a_file_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=1)
    before = programs(path)
    collect(path, each=3)
    after = programs(path)
    assert (len(before), len(after)) == (6, 18)
    assert after[:6] == before
    assert len({(program.task.workload, program.schedule) for program in after}) == 18


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_that_was_cut_off_is_continued(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "out.jsonl.gz"
    collect(path, each=2)
    whole = path.read_bytes()
    lines = gzip.decompress(whole).splitlines(keepends=True)
    cut = b"".join(lines[:5]) + lines[5][:40]
    path.write_bytes(gzip.compress(cut) if compressed else cut)
    collect(path, each=2)
    assert len(programs(path)) == 12
    path.write_bytes(whole[:-12])
    collect(path, each=3)
    assert len(programs(path)) == 18


def test_every_line_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    journal = ProgramJournal(path)
    program = make_program(TASKS[0].named(H200.text), '{"block_m":64}', [1e-3], 0.5, {})
    assert journal.add(program)
    (tmp_path / "cut.gz").write_bytes(path.read_bytes())  # as a kill would leave it
    (_, kept), (_, damage) = read_collected(tmp_path / "cut.gz")
    assert kept == program
    assert isinstance(damage, Damage)
    assert "breaks off" in damage.reason
    assert ProgramJournal(tmp_path / "cut.gz").outcomes.keys() == {TASKS[0].workload.hash}
    assert [kept for _, kept in read_collected(tmp_path / "cut.gz")] == [program]
    journal.close()


def test_programs_of_another_gpu_are_not_mixed_with_these(tmp_path: Path) -> None:
    collection, _ = collect(tmp_path / "out.jsonl.gz", each=1)
    require_target(collection, H200.text)
    with pytest.raises(ValueError, match=r"has programs for .* name another -o"):
        require_target(collection, "another")


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
    program = make_program(TASKS[0].named(H200.text), '{"block_m":64}', [1e-3], 0.5, {})
    changed = tmp_path / "changed.jsonl"
    changed.write_text(json.dumps({**json.loads(program_to_json(program)), **change}))
    ((_, found),) = read_collected(changed)
    assert isinstance(found, Damage)


def test_a_collection_is_known_by_its_lines_and_goes_into_a_store(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"

    def fails_once(program: PendingProgram) -> dict[str, Any]:
        failure = Failure(Stage.COMPILE, Symptom.UNSUPPORTED, "too much shared memory")
        return {"failure": failure} if is_first(program) else compiles(program)

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
