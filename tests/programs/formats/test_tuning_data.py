"""Real files of tuners: every line of a slice, more of the whole file, and back."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path

import pytest

from graph_net.programs.formats import (
    Format,
    MetaScheduleWorkload,
    detect,
    read_ansor,
    read_metaschedule,
    read_programs,
    read_t4,
    read_workloads,
    write_ansor,
    write_t4,
)
from programs.formats.tuning_samples import damages, programs

SOME = 300
"""Lines of a whole file; that all of them are read is what `graph-net ingest` shows."""
COUNTS = {
    "ansor/k80/elementwise.json.gz": (Format.ANSOR, {"slice": (134, 6), "whole": (402, 19)}),
    "ansor/v100/reduction.json.gz": (Format.ANSOR, {"slice": (120, 0), "whole": (240, 0)}),
    "kernel_tuner/convolution_A100_T4.json.gz": (
        Format.T4,
        {"slice": (97, 2), "whole": (4362, 161)},
    ),
}
"""Programs and failures of a file, counted with jq (slices/README.md)."""


@pytest.mark.parametrize("name", COUNTS)
def test_every_line_is_read(name: str, real_files: Path, extent: str) -> None:
    path = real_files / name
    kind, counts = COUNTS[name]
    assert detect(path) is kind
    found = list(read_programs(path, kind))
    assert damages(found) == []
    failed = sum(program.failure is not None for program in programs(found))
    assert (len(programs(found)), failed) == counts[extent]


def test_platforms_share_tasks_and_schedules(real_files: Path, extent: str) -> None:
    ours, theirs = (
        {
            (program.task.workload, program.schedule)
            for program in programs(
                list(read_ansor(real_files / f"ansor/{name}/elementwise.json.gz"))
            )
        }
        for name in ("k80", "v100")
    )
    assert len(ours & theirs) == {"slice": 44, "whole": 402}[extent]


DATABASE = "metaschedule/a100_resnet34_database_tuning_record.json.gz"
DATABASE_COUNTS = {"slice": (3, 83, 30), "whole": (20, SOME, 257)}
"""Workloads, records read and failures among them."""


def test_a_database_is_read_with_its_workloads(real_files: Path, extent: str) -> None:
    path = real_files / DATABASE
    assert detect(path) is Format.METASCHEDULE
    beside = path.with_name(path.name.replace("tuning_record", "workload"))
    assert detect(beside) is Format.WORKLOADS
    known = {
        what.hash for _, what in read_workloads(beside) if isinstance(what, MetaScheduleWorkload)
    }
    found = programs(list(islice(read_metaschedule(path), SOME)))
    failed = sum(program.failure is not None for program in found)
    assert (len(known), len(found), failed) == DATABASE_COUNTS[extent]
    assert {program.task.workload for program in found} <= known
    assert all(len(program.costs) == 3 for program in found if program.failure is None)


def test_real_records_come_back(real_files: Path, tmp_path: Path) -> None:
    matmul = real_files / "ansor/k80/matmul.json.gz"
    first = programs(list(islice(read_ansor(matmul), SOME)))
    assert first
    lines = io.BytesIO()
    write_ansor(first, lines)
    (tmp_path / "a").write_bytes(lines.getvalue())
    assert programs(list(read_ansor(tmp_path / "a"))) == first
    convolution = real_files / "kernel_tuner/convolution_W6600_T4.json.gz"
    whole = programs(list(islice(read_t4(convolution, "c"), SOME)))
    assert whole
    document = io.BytesIO()
    write_t4(whole, document)
    (tmp_path / "t").write_bytes(document.getvalue())
    assert programs(list(read_t4(tmp_path / "t"))) == whole
