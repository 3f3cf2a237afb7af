"""Schedules that TVM drew for a small product, as a directory of records with its module."""

from __future__ import annotations

from pathlib import Path

from tvm import IRModule, te

from graph_net.programs.formats import MetaScheduleWorkload as Module
from graph_net.programs.formats import write_workloads
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, workload_of
from graph_net.programs.store.workload_table import WorkloadStore
from programs.features.some_programs import program, stored


def real_records(folder: Path) -> Path:
    """Three programs of a product of two matrices."""
    left = te.placeholder((32, 64), name="left")
    right = te.placeholder((64, 16), name="right")
    over = te.reduce_axis((0, 64), name="k")
    product = te.compute(
        (32, 16), lambda i, j: te.sum(left[i, over] * right[over, j], axis=over), name="product"
    )
    workload = workload_of(
        IRModule({"main": te.create_prim_func([left, right, product])}), "matmul"
    )
    space = MetaScheduleSpace(workload)
    measured = [
        program(schedule, 1.0 + place, workload.hash, space.target)
        for place, schedule in enumerate(space.sample(3, 1))
    ]
    records = stored(folder, measured)
    modules = folder.parent / "database_workload.json"
    with modules.open("wb") as file:
        write_workloads([Module(workload.hash, workload.module)], file)
    WorkloadStore(records).add(modules)
    return records
