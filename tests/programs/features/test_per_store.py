"""TVM's features of programs, each program on its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")

from graph_net.programs.features.failures import Lost
from graph_net.programs.features.feature_kinds import MACHINE_CODE, PER_STORE, FeatureKind
from graph_net.programs.features.feature_store import FeatureStore
from graph_net.programs.features.per_store import GROUPS, WIDTH
from graph_net.programs.features.pipeline import Making
from graph_net.programs.features.training_batches import programs_by_key, training_batches
from graph_net.programs.features.tvm_features import POOL, TaskSchedules, extract
from graph_net.programs.formats import MetaScheduleWorkload as Module
from graph_net.programs.formats import write_workloads
from graph_net.programs.spaces import Workload
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, workload_of
from graph_net.programs.store.workload_table import WorkloadStore
from programs.features.some_programs import program, stored


@pytest.fixture(scope="module")
def workload() -> Workload:
    from tvm import IRModule, te

    left = te.placeholder((32, 64), name="left")
    right = te.placeholder((64, 16), name="right")
    over = te.reduce_axis((0, 64), name="k")
    product = te.compute(
        (32, 16), lambda i, j: te.sum(left[i, over] * right[over, j], axis=over), name="product"
    )
    return workload_of(IRModule({"main": te.create_prim_func([left, right, product])}), "matmul")


@pytest.fixture(scope="module")
def drawn(workload: Workload) -> list[str]:
    return list(MetaScheduleSpace(workload).sample(4, 1))


def test_every_program_has_stores_with_164_numbers(workload: Workload, drawn: list[str]) -> None:
    subject = TaskSchedules("task", workload, "", tuple(drawn))
    found = {schedule: array for _, schedule, array in extract(PER_STORE, [subject])}
    assert list(found) == drawn
    for array in found.values():
        assert not isinstance(array, Lost)
        assert array.ndim == 2
        assert array.shape[1] == WIDTH
        assert np.isfinite(array).all()
    assert len({array.tobytes() for array in found.values() if not isinstance(array, Lost)}) == 4


def test_the_groups_of_columns_are_all_of_them() -> None:
    bounds = sorted(GROUPS.values())
    assert [bounds[0][0], bounds[-1][1]] == [0, WIDTH]
    assert all(first[1] == second[0] for first, second in pairwise(bounds))


def test_a_bad_program_loses_itself_alone(workload: Workload, drawn: list[str]) -> None:
    bad = ("[]", '[[["GetLoops",["b7"],[],["l0"]]],[]]')
    subject = TaskSchedules("task", workload, "", (bad[0], drawn[0], bad[1], drawn[1]))
    found = [array for _, _, array in extract(PER_STORE, [subject], replace(POOL, jobs=2))]
    assert [isinstance(array, Lost) for array in found] == [True, False, True, False]


@pytest.mark.parametrize("kind", [PER_STORE, MACHINE_CODE], ids=lambda kind: kind.name)
def test_a_directory_of_records_has_its_features_made_once(
    tmp_path: Path, workload: Workload, drawn: list[str], kind: FeatureKind
) -> None:
    measured = [program(text, 1.0, workload.hash, MetaScheduleSpace(workload).target)
                for text in drawn]  # fmt: skip
    records = stored(tmp_path / "records", measured)
    modules = tmp_path / "database_workload.json"
    with modules.open("wb") as file:
        write_workloads([Module(workload.hash, workload.module)], file)
    WorkloadStore(records).add(modules)
    making = Making(records, store := FeatureStore(tmp_path / "features"))
    assert list(making.through_tvm(kind, making.missing(kind), POOL)) == [None] * len(drawn)
    assert making.missing(kind) == {}
    other = Making(records, FeatureStore(tmp_path / "other"))
    assert other.missing(kind, shipped=store) == {} != other.missing(kind)
    (batch,) = training_batches(store, kind, programs_by_key(records, kind))
    subject = TaskSchedules("", workload, "", tuple(drawn))
    wanted = {np.asarray(array, np.float16).tobytes() for _, _, array in extract(kind, [subject])}
    assert {batch.values[a:b].tobytes() for a, b in pairwise(batch.starts)} == wanted


def test_programs_without_a_module_have_a_reason(tmp_path: Path, drawn: list[str]) -> None:
    records = stored(tmp_path / "records", [program(drawn[0], 1.0, target="")])
    making = Making(records, store := FeatureStore(tmp_path / "features"))
    (lost,) = making.through_tvm(PER_STORE, making.missing(PER_STORE), POOL)
    assert lost is not None
    assert "holds no module" in lost.reason
    assert making.missing(PER_STORE) == {}
    assert Making(records, store, retry=True).missing(PER_STORE) != {}


def test_a_module_that_is_none_loses_its_task(workload: Workload, drawn: list[str]) -> None:
    other = Workload("metaschedule", "broken", "1", "AAAA")
    subjects = [
        TaskSchedules("bad", other, "", tuple(drawn[:1])),
        TaskSchedules("good", workload, "", tuple(drawn[:1])),
    ]
    found = {task: array for task, _, array in extract(PER_STORE, subjects)}
    assert isinstance(found["bad"], Lost)
    assert not isinstance(found["good"], Lost)
