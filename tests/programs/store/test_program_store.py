"""Programs on disk: exactly what was read, in few bytes; other layouts are refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.api.query import query
from graph_net.cli.main import main
from graph_net.programs.formats import (
    Format,
    Place,
    ReadError,
    detect,
    read_ansor,
    read_programs,
    write_ansor,
)
from graph_net.programs.formats.outcome import FAILURES
from graph_net.programs.store.columns import COLUMNS
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels, ProgramStore
from graph_net.results import Device, Json, Program, Task, canonical
from graph_net.store.records import RecordStore
from programs.formats.tuning_samples import ansor, autotvm, json_values, lines, meta, t4


def kept(folder: Path, programs: Iterable[Program]) -> list[Program]:
    """Programs, stored and read again."""
    source = lines(folder / "a", b"")
    store = ProgramStore(folder)
    store.add(source, ((Place(n, 0), one) for n, one in enumerate(programs)), Labels())
    return [program for _, program in sorted(store.programs(), key=lambda row: row[0])]


costs = st.lists(
    st.floats(1e-12, 1e8) | st.floats(1e-9, 1e3).map(lambda cost: float(f"{cost:.6g}")),
    min_size=1,
    max_size=5,
).map(tuple)
schedules = st.one_of(json_values, st.lists(st.integers(0, 99), max_size=4)).map(
    lambda value: canonical(cast(Json, value))
)
instants = st.none() | st.floats(0, 4e9) | st.integers(0, 4 * 10**9).map(float)
tasks = st.sampled_from([Task("ansor", "a"), Task("ansor", "b", "k", "t", "[1]"), Task("t4", "c")])
programs = st.builds(
    Program.from_log,
    tasks,
    schedules,
    costs,
    st.none(),
    st.sampled_from(["", "v"]),
    instants,
    instants,
) | st.builds(
    Program.from_log,
    tasks,
    schedules,
    st.just(()),
    st.sampled_from(list(FAILURES.values())),
    extra=schedules,
)


def test_a_device_is_stored_with_its_program(tmp_path: Path) -> None:
    device = Device("cpu", "AMD EPYC", 2, 4, 8 << 30, "Linux", "3.11", {"tvm": "0.27"})
    known = Program.from_log(Task("ansor", "a"), "[1]", (1.0,), device=device)
    unknown = Program.from_log(Task("ansor", "a"), "[2]", (1.0,))
    assert kept(tmp_path, [known, unknown]) == [known, unknown]


def test_a_part_of_before_programs_had_devices_is_read(tmp_path: Path) -> None:
    program = Program.from_log(Task("ansor", "a"), "[1]", (1.0,))
    kept(tmp_path, [program])
    store = ProgramStore(tmp_path)
    (part,) = store.parts()
    pq.write_table(pq.read_table(part).drop_columns(["fingerprint"]), part)
    assert [one for _, one in store.programs()] == [program]
    asked = "SELECT fingerprint, again, cost FROM programs"
    assert query(RecordStore(tmp_path), asked)[1] == [(None, False, 1.0)]


@given(st.lists(programs, min_size=1, max_size=12))
def test_what_is_stored_is_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, given_programs: list[Program]
) -> None:
    assert kept(tmp_path_factory.mktemp("store"), given_programs) == given_programs


def test_every_format_is_stored_as_it_was_read(tmp_path: Path) -> None:
    lines(tmp_path / "database_workload.json", ["123", "QQ=="])
    files = [
        lines(tmp_path / "ansor", ansor(), ansor(r=[[1e10], 7, 5.0, 9])),
        lines(tmp_path / "autotvm", autotvm()),
        lines(tmp_path / "database_tuning_record.json", meta()),
        lines(tmp_path / "t4", {"results": [t4()]}),
    ]
    for path in files:
        kind = detect(path)
        add_file(tmp_path, path, kind, Labels(kernel="k"))
        found = [what for _, what in read_programs(path, kind, "k")]
        assert [one for _, one in ProgramStore(tmp_path).programs()] == found
        ProgramStore(tmp_path).part(path).unlink()


BYTES_PER_PROGRAM = {"slice": 160, "whole": 24}
"""The footer of a Parquet file is shared by few programs in a slice."""


def test_real_files_are_stored_as_they_were_read(
    real_files: Path, extent: str, tmp_path: Path
) -> None:
    source = real_files / "ansor/k80/matmul.json.gz"
    added = add_file(tmp_path, source, Format.ANSOR, Labels())
    stored = sorted(ProgramStore(tmp_path).programs(), key=lambda row: row[0])
    assert stored == [(place.line, what) for place, what in read_ansor(source)]
    assert added is not None
    (part,) = ProgramStore(tmp_path).parts()
    assert part.stat().st_size < BYTES_PER_PROGRAM[extent] * added.programs
    written = io.BytesIO()
    write_ansor([program for _, program in stored[:50]], written)
    again = tmp_path / "again"
    again.write_bytes(written.getvalue())
    assert [what for _, what in read_ansor(again)] == [one for _, one in stored[:50]]


def test_programs_of_a_task_are_stored_together(tmp_path: Path) -> None:
    names = [json.dumps(["op", n % 3]) for n in range(30)]
    path = lines(tmp_path / "a", *(ansor(key=name) for name in names))
    add_file(tmp_path, path, Format.ANSOR, Labels())
    (part,) = ProgramStore(tmp_path).parts()
    table = pq.read_table(part, columns=["workload", "line"])
    assert table["workload"].to_pylist() == [json.dumps(["op", n // 10]) for n in range(30)]
    assert table["line"].to_pylist()[:3] == [1, 4, 7]


def test_the_mean_is_known_without_the_repeats(tmp_path: Path) -> None:
    rows = [ansor(r=[[0.000398768, 0.000398771, 0.0003988], 0, 1, 5]), ansor(r=[[1 / 3], 0, 1, 5])]
    add_file(tmp_path, lines(tmp_path / "a", *rows), Format.ANSOR, Labels())
    assert "spread" not in COLUMNS["cost"]
    found = query(RecordStore(tmp_path), "SELECT cost, list_avg(costs) FROM programs")[1]
    for cost, mean in found:
        assert cost == pytest.approx(mean, rel=1e-15)


def test_a_file_of_another_layout_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"programs-{'0' * 32}.parquet").write_bytes(b"PAR1")
    with pytest.raises(SystemExit) as stop:
        main(["query", "SELECT 1 FROM programs", "-r", str(tmp_path)])
    assert stop.value.code == 1
    said = capsys.readouterr().err
    assert "delete it and ingest its file again" in said
    assert "Traceback" not in said


def test_files_are_read_in_several_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [lines(tmp_path / name, ansor(key=json.dumps([name])), b"[") for name in "abc"]
    out = tmp_path / "records"
    with pytest.raises(SystemExit) as stop:
        main(["ingest", *map(str, files), "-o", str(out), "-j", "2"])
    assert stop.value.code == 0
    assert capsys.readouterr().err.count("1 programs added, 1 damaged") == 3
    assert query(RecordStore(out), "SELECT count(*) FROM programs")[1] == [(3,)]


def test_a_file_without_programs_is_an_error_in_several_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [lines(tmp_path / "a", ansor()), lines(tmp_path / "b", ansor(r=[[-1], 0, 1, 5]))]
    with pytest.raises(SystemExit) as stop:
        main(["ingest", *map(str, files), "-o", str(tmp_path / "records"), "-j", "2"])
    assert stop.value.code == 1
    assert "b has no program that can be read" in capsys.readouterr().err.replace("\n", "")


def test_programs_without_schedules_cannot_be_given_again(tmp_path: Path) -> None:
    path = lines(tmp_path / "a", ansor())
    add_file(tmp_path, path, Format.ANSOR, Labels(schedules=False))
    with pytest.raises(ReadError, match="without schedules"):
        list(ProgramStore(tmp_path).programs())
