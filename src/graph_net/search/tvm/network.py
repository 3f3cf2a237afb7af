"""A graph as TVM tunes it: its fused functions with their weights, and a database for its build."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph_net.compilers.compiler import Job, Unsupported
from graph_net.compilers.export import export_uncached, pure_function_of
from graph_net.compilers.silence import silent
from graph_net.compilers.tvm import import_to_relax, tvm_target
from graph_net.compilers.tvm_database import FILES, database_digest
from graph_net.graph import Graph
from graph_net.isolate import Limits, call
from graph_net.isolate.workdir import remove_tree, temporary_directory
from graph_net.programs.spaces import Workload
from graph_net.results import Config
from graph_net.search.measurer import SearchError
from graph_net.store.atomic import write_text
from graph_net.store.files import read_bytes

LIMITS = Limits.of(600, 16.0)
"""For importing a graph, and for writing a database."""
MOST_TEXT = 256 << 20


@dataclass(frozen=True)
class NetworkFunction:
    """A function that TVM made of a graph, and how often the graph calls it."""

    workload: Workload
    weight: int


def network_functions(graph: Graph, cores: int) -> list[NetworkFunction]:
    """Return the functions to tune, asked for in a confined process."""
    found = call(lambda: [asdict(function) for function in _extract(graph, cores)], LIMITS)
    functions = [
        NetworkFunction(Workload(**tree["workload"]), int(tree["weight"])) for tree in found
    ]
    if not functions:
        raise SearchError("TVM makes no function of this graph: there is nothing to tune")
    return functions


def _extract(graph: Graph, cores: int) -> list[NetworkFunction]:
    import torch
    from tvm import relax
    from tvm.s_tir.meta_schedule.relax_integration import extract_tasks

    from graph_net.programs.spaces.metaschedule import workload_of

    program = pure_function_of(Job(graph, (), "cpu", Path()))
    if graph.symbols:
        raise Unsupported(["sizes that are not known"])
    module, _ = import_to_relax(export_uncached(program, torch.device("cpu")))
    target = tvm_target(cores)
    with silent(), target:
        module = relax.get_pipeline("zero")(module)  # as the compiler does before it applies one
        tasks = extract_tasks(module, target)
    return [
        NetworkFunction(workload_of(task.dispatched[0], str(task.task_name)), int(task.weight))
        for task in tasks
    ]


def write_database(
    functions: list[NetworkFunction], best: Mapping[str, tuple[str, float]], folder: Path
) -> Config:
    """Write the best schedules as a MetaSchedule database; return the Config that builds with it.

    ``best`` has the schedule and its seconds by the hash of the workload.
    """
    from graph_net.compilers.trusted import config_here

    chosen = [
        (asdict(function.workload), *best[function.workload.hash])
        for function in functions
        if function.workload.hash in best
    ]
    texts = call(lambda: _database(chosen), LIMITS)
    remove_tree(folder)
    folder.mkdir(parents=True)
    for name, text in zip(FILES, texts, strict=True):
        write_text(folder / name, text)
    options = {"database": str(folder.absolute()), "digest": database_digest(folder)}
    return config_here("tvm", options)


def _database(chosen: list[tuple[dict[str, Any], str, float]]) -> list[str]:
    """Return the texts of a database's files, as TVM writes them."""
    from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord

    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    with temporary_directory() as folder:
        paths = [folder / name for name in FILES]
        database = JSONDatabase(*map(str, paths))
        for tree, schedule, seconds in chosen:
            space = MetaScheduleSpace(Workload(**tree))
            replayed = space.schedule(schedule)
            workload = database.commit_workload(space.module)
            database.commit_tuning_record(
                TuningRecord(replayed.trace, workload, [seconds], space.tvm_target)
            )
        return [read_bytes(path, MOST_TEXT).decode() for path in paths]


def graph_key(graph: Graph, cores: int) -> str:
    """Return what a tuning of a graph is known by: another graph or machine is another one."""
    return sha256(json.dumps([graph.id, cores]).encode()).hexdigest()[:16]
