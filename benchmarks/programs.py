"""Programs of tasks, built and timed. Claim: at least 5,000 an hour on two cores, none stalls.

Beside it TVM's own LocalBuilder and LocalRunner on some of the same schedules, as a tuner of
MetaSchedule's calls them: one batch, the number of workers and the time limits that they choose.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from benchmarks.common import console, show, verdict
from graph_net.corpus.query import select
from graph_net.programs.collection.cpu_bench import cpu_collection
from graph_net.programs.collection.networks import networks
from graph_net.programs.collection.plan import Wanted
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.collection.tasks import Extraction, merge_tasks
from graph_net.programs.spaces import repeats_of
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace
from graph_net.results import Program

LEAST = 5_000
NETWORKS = ("tenset/resnet18-1x224", "tenset/mobilenet_v2-1x224", "tenset/bert_tiny-1x128")


def tasks_of(names: tuple[str, ...], work: Path, most: int) -> list[CollectedTask]:
    """Tasks of networks, spread evenly over all there are."""
    pack = networks("tenset")
    rows = select(pack, "name IN " + str(names))
    extraction = Extraction(
        work / "tasks", os.cpu_count() or 1, {row["name"]: row["id"] for row in rows}
    )
    extraction.run(pack.blobs(names), os.cpu_count() or 1, lambda: None)
    found = merge_tasks(extraction.tasks())
    return found[:: max(1, len(found) // most)][:most]


def collected(tasks: list[CollectedTask], work: Path, per_task: int) -> tuple[list[Program], float]:
    """Programs as ``graph-net programs collect`` collects them, and the seconds it took."""
    began = time.perf_counter()
    found = list(cpu_collection(work, Wanted(per_task), os.cpu_count() or 1).run(tasks))
    return found, time.perf_counter() - began


def stock(programs: list[Program], tasks: list[CollectedTask]) -> tuple[int, float]:
    """How many of these TVM itself measures, and the seconds it takes for all."""
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.builder import BuilderInput, LocalBuilder
    from tvm.s_tir.meta_schedule.runner import EvaluatorConfig, LocalRunner, RunnerInput
    from tvm.target import Target

    by_hash = {task.workload.hash: task.workload for task in tasks}
    modules = []
    for program in programs:
        space = MetaScheduleSpace(by_hash[program.task.workload])
        modules.append((space.schedule(program.schedule).mod, Target(space.target)))
    times = EvaluatorConfig(1, repeats_of(1e8), 0, enable_cpu_cache_flush=True)
    finished, began = 0, time.perf_counter()
    with suppress(TimeoutError):  # their workers may not have loaded TVM within their limit
        runner = LocalRunner(evaluator_config=times)
        built = LocalBuilder().build([BuilderInput(*module) for module in modules])
        futures = runner.run(
            [
                RunnerInput(one.artifact_path, "cpu", ArgInfo.from_entry_func(module))
                for one, (module, _) in zip(built, modules, strict=True)
                if one.artifact_path is not None
            ]
        )
        finished = sum(future.result().run_secs is not None for future in futures)
    return finished, time.perf_counter() - began


def _row(name: str, programs: int, finished: int, seconds: float) -> list[str]:
    rate = 3600 * finished / seconds
    return [name, str(programs), str(finished), f"{seconds:.1f}", f"{rate:,.0f}"]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tasks", type=int, default=40)
    options.add_argument("--per-task", type=int, default=16)
    options.add_argument("--stock", type=int, default=8, help="programs that TVM measures itself")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        tasks = tasks_of(NETWORKS, work, given.tasks)
        found, took = collected(tasks, work, given.per_task)
        good = [program for program in found if program.failure is None]
        some = good[:: max(1, len(good) // given.stock)][: given.stock]
        finished, alone = stock(some, tasks)
    header = ("trials", "programs", "finished", "seconds", "an hour")
    rows = [
        _row("forked from a warm process", len(found), len(good), took),
        _row("LocalBuilder, LocalRunner", len(some), finished, alone),
    ]
    show(f"programs of {len(tasks)} tasks of {len(NETWORKS)} networks", header, rows)
    ends = Counter(f"{p.failure.stage} {p.failure.symptom}" for p in found if p.failure)
    console.print("failed: " + (", ".join(f"{n} {why}" for why, n in ends.items()) or "none"))
    rate = 3600 * len(good) / took
    return 0 if verdict(rate >= LEAST, f"{rate:,.0f} programs an hour (at least {LEAST:,})") else 1


if __name__ == "__main__":
    sys.exit(main())
