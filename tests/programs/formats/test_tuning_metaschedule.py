"""MetaSchedule's databases: records joined with their workloads, and back to lines."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.formats import (
    MetaScheduleWorkload,
    ReadError,
    read_metaschedule,
    read_workloads,
    write_records,
    write_workloads,
)
from programs.formats.tuning_samples import (
    TRACE,
    costs,
    damages,
    json_values,
    lines,
    meta,
    programs,
)

WORKLOADS = (["123", "QUJD"], ["18446744073709551615", "QQ=="])


def database(folder: Path, *rows: Any, workloads: tuple[Any, ...] = WORKLOADS) -> Path:
    lines(folder / "database_workload.json", *workloads)
    return lines(folder / "database_tuning_record.json", *rows)


def test_a_record_has_the_hash_of_its_workload(tmp_path: Path) -> None:
    (found,) = programs(list(read_metaschedule(database(tmp_path, meta(1)))))
    assert (found.task.workload, found.task.target) == ("18446744073709551615", '{"kind":"llvm"}')
    assert json.loads(found.task.details) == [["TENSOR", "float32", [8]]]
    assert json.loads(found.schedule) == TRACE
    assert (found.costs, found.failure) == ((0.5, 0.25), None)


@pytest.mark.parametrize("mark", [1e9, 1e10])
def test_a_time_that_none_can_be_is_a_failure(tmp_path: Path, mark: float) -> None:
    (found,) = programs(list(read_metaschedule(database(tmp_path, meta(costs=[mark])))))
    assert found.costs == ()
    assert found.failure is not None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (meta(2), "workload 2 is not in the database"),
        (meta(-1), "a workload, a whole number"),
        (meta(costs=None), "costs, a list"),
        (meta(costs=[0.0]), "from 1e-18 seconds"),
        (meta(trace=[[["Fuse", [], []]], []]), "of 4 items"),
        (meta(trace=[[["Fuse", [], [], 1]], []]), "lists in an instruction"),
        (meta(trace=[[], [[1]]]), "a decision"),
        ([0, [TRACE, [1.0], "{", []]], "a target"),
        ([0], "of 2 items"),
    ],
)
def test_damage_is_told(tmp_path: Path, bad: Any, reason: str) -> None:
    found = list(read_metaschedule(database(tmp_path, meta(), bad)))
    assert len(programs(found)) == 1
    ((line, said),) = damages(found)
    assert line == 2
    assert reason in said


def test_a_damaged_workload_keeps_its_number(tmp_path: Path) -> None:
    rows = (meta(0), meta(1))
    path = database(tmp_path, *rows, workloads=(b"[", WORKLOADS[1]))
    found = list(read_metaschedule(path))
    assert [program.task.workload for program in programs(found)] == [WORKLOADS[1][0]]
    assert damages(found)[0][0] == 1


def test_records_without_their_workloads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="needs the workloads of its database beside it"):
        list(read_metaschedule(lines(tmp_path / "database_tuning_record.json", meta())))


@pytest.mark.parametrize("bad", [["12a", "QQ=="], ["12", "import os"], ["12"], [12, "QQ=="]])
def test_what_is_no_workload_is_damage(tmp_path: Path, bad: Any) -> None:
    found = [what for _, what in read_workloads(lines(tmp_path / "w", bad, WORKLOADS[0]))]
    assert found[1] == MetaScheduleWorkload("123", "QUJD")
    assert not isinstance(found[0], MetaScheduleWorkload)


decisions = st.lists(st.tuples(st.integers(0, 99), json_values), max_size=3)
instructions = st.lists(
    st.tuples(st.text(max_size=5), *[st.lists(json_values, max_size=2)] * 3), max_size=3
)
records = st.builds(
    meta,
    index=st.integers(0, 1),
    costs=costs | st.just([1e10]),
    trace=st.tuples(instructions, decisions),
)


@given(st.lists(records, min_size=1, max_size=4))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("meta")
    path = database(folder, *rows)
    first = programs(list(read_metaschedule(path)))
    assert len(first) == len(rows)
    known = [what for _, what in read_workloads(folder / "database_workload.json")]
    workloads = [what for what in known if isinstance(what, MetaScheduleWorkload)]
    kept, listed = io.BytesIO(), io.BytesIO()
    write_workloads(workloads, listed)
    write_records(first, {work.hash: place for place, work in enumerate(workloads)}, kept)
    (folder / "database_workload.json").write_bytes(listed.getvalue())
    path.write_bytes(kept.getvalue())
    assert programs(list(read_metaschedule(path))) == first
