"""The real files beside the repository: every line of a sample of them, and back."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path

import pytest

from formats.tuning_samples import DATA, damages, programs
from graph_net.formats.tuning import (
    Format,
    Workload,
    detect,
    read_ansor,
    read_metaschedule,
    read_programs,
    read_t4,
    read_workloads,
    write_ansor,
    write_t4,
)

SOME = 300
"""Lines of a file; that all of them are read is what `graph-net ingest` shows."""
FILES = {
    "ansor/k80/elementwise.json.gz": (Format.ANSOR, 402, 19),
    "ansor/v100/reduction.json.gz": (Format.ANSOR, 240, 0),
    "kernel_tuner/convolution_A100_T4.json.gz": (Format.T4, 4362, 161),
}


def real(name: str) -> Path:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"needs shared/data/{name} beside the repository")
    return path


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_read(name: str) -> None:
    path = real(name)
    kind, count, failed = FILES[name]
    assert detect(path) is kind
    found = list(read_programs(path, kind))
    assert damages(found) == []
    assert len(programs(found)) == count
    assert sum(program.failure is not None for program in programs(found)) == failed


def test_platforms_share_tasks_and_schedules() -> None:
    ours, theirs = (
        {
            (program.task.workload, program.schedule)
            for program in programs(list(read_ansor(real(f"ansor/{name}/elementwise.json.gz"))))
        }
        for name in ("k80", "v100")
    )
    assert ours & theirs


def test_a_database_is_read_with_its_workloads() -> None:
    path = real("metaschedule/a100_resnet34_database_tuning_record.json.gz")
    assert detect(path) is Format.METASCHEDULE
    beside = path.with_name(path.name.replace("tuning_record", "workload"))
    assert detect(beside) is Format.WORKLOADS
    known = {what.hash for _, what in read_workloads(beside) if isinstance(what, Workload)}
    assert len(known) == 20
    found = programs(list(islice(read_metaschedule(path), SOME)))
    assert len(found) == SOME
    assert {program.task.workload for program in found} <= known
    assert all(len(program.costs) == 3 for program in found if program.failure is None)


def test_real_records_come_back(tmp_path: Path) -> None:
    first = programs(list(islice(read_ansor(real("ansor/k80/matmul.json.gz")), SOME)))
    lines = io.BytesIO()
    write_ansor(first, lines)
    (tmp_path / "a").write_bytes(lines.getvalue())
    assert programs(list(read_ansor(tmp_path / "a"))) == first
    whole = programs(
        list(islice(read_t4(real("kernel_tuner/convolution_W6600_T4.json.gz"), "c"), SOME))
    )
    document = io.BytesIO()
    write_t4(whole, document)
    (tmp_path / "t").write_bytes(document.getvalue())
    assert programs(list(read_t4(tmp_path / "t"))) == whole
