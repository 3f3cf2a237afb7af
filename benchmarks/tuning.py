"""Tuning on this CPU: a pre-trained model in our search against MetaSchedule's default.

    graph-net learn cpu --model blend --split network -o build/cpu-blend
    python -m benchmarks.tuning --model build/cpu-blend --trials 64 --tasks 10
    python -m benchmarks.tuning --model build/cpu-blend --trials 200 --networks

Tasks are of networks that ``cpu`` holds out, so the model has not seen them. Both arms build and
time programs in the same forked, placed trials of ``graph_net.search.tvm``; ``default`` is
MetaSchedule's own evolutionary search from scratch with its own XGBoost model: what it asks to have
measured is measured there. Measurements are kept in ``--work``: killed, the same command goes on. A
ratio is the measurements of the default over those after which ours is as fast as its best; where
ours never is, it is below 1. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.corpus.pack import Pack
from graph_net.learn.model_registry import load_model
from graph_net.learn.record_folders import read_tasks
from graph_net.programs.collection.networks import networks
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.dataset.splits import SplitRule, load_splits
from graph_net.programs.spaces import Workload
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, trace_text
from graph_net.programs.view.overview import tables
from graph_net.search.history import SearchHistory
from graph_net.search.models import make_proposer
from graph_net.search.proposer import RandomProposer
from graph_net.search.tvm.tuning_round import TuningRound, run_round
from graph_net.store.journal import LineJournal, whole_lines

SEEDS = (0, 1, 2)
BATCH = 8
DATA = Path("dataset/programs/cpu")
HELD_OUT = ("resnet50-1x224", "bert_tiny-1x128")
"""The two whole networks."""


class Journal:
    """Measurements of one arm, by task and seed, in the order in which they were made."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, []
        for line in whole_lines(path) if path.exists() else ():
            self.rows.append(json.loads(line))

    def history(self, arm: str, task: str, seed: int) -> SearchHistory:
        """Return what was measured before."""
        history = SearchHistory()
        for row in self.rows:
            if (row["arm"], row["task"], row["seed"]) == (arm, task, seed):
                history.add(row["schedule"], row["seconds"] or math.inf)
        return history

    def add(self, arm: str, task: str, seed: int, schedule: str, seconds: float) -> None:
        """Append a measurement; null seconds for a failure."""
        row = {
            "arm": arm, "task": task, "seed": seed, "schedule": schedule,
            "seconds": seconds if math.isfinite(seconds) else None,
        }  # fmt: skip
        self.rows.append(row)
        with LineJournal(self.path) as journal:
            journal.append(json.dumps(row).encode())


def held_out_tasks(count: int) -> list[CollectedTask]:
    """Return the tasks of held-out networks with the most work, those with a choice of programs."""
    tested = load_splits(DATA.parent).tested(SplitRule.NETWORK, "cpu")
    with tables(DATA) as connection:
        modules = dict(connection.execute("SELECT workload, module FROM workloads").fetchall())
    tasks = [t for t in read_tasks(DATA) if t.task in tested and t.programs > 1]
    tasks.sort(key=lambda task: -task.flops)
    return [
        CollectedTask(
            Workload("metaschedule", t.kernel, t.workload, modules[t.workload], t.flops),
            t.structure, t.graph, weights=dict(t.weights),
        )
        for t in tasks[:: max(1, len(tasks) // count)][:count]
    ]  # fmt: skip


def measure(
    work: Path, task: CollectedTask, schedules: list[str], seed: int
) -> Iterator[tuple[str, float]]:
    """Yield each program and its seconds, measured as in ``graph-net tune``."""
    process = TuningRound(
        task, RandomProposer(), SearchHistory(), len(schedules), 2, seed, schedules
    )
    programs, problems = run_round(work, 2, process)
    for problem in problems:
        print(problem, flush=True)
    for program in programs:
        yield program.schedule, fmean(program.costs) if program.costs else math.inf


def run_ours(
    work: Path, journal: Journal, task: CollectedTask, model: Any, seed: int, trials: int
) -> None:
    """Search with the pre-trained model and a local residual."""
    history = journal.history("ours", task.workload.hash, seed)
    while len(history) < trials:
        count = min(BATCH, trials - len(history))
        process = TuningRound(task, make_proposer("residual", model, seed), history, count, 2, seed)
        programs, problems = run_round(work, 2, process)
        if not programs:
            print(f"{task.workload.name}: {problems}", flush=True)
            return
        for program in programs:
            seconds = fmean(program.costs) if program.costs else math.inf
            history.add(program.schedule, seconds)
            journal.add("ours", task.workload.hash, seed, program.schedule, seconds)


def run_default(work: Path, journal: Journal, task: CollectedTask, seed: int, trials: int) -> None:
    """Run MetaSchedule's evolutionary search with its own model; we measure what it proposes.

    A search that was killed begins anew: what it proposes again is answered from the journal.
    """
    from tvm.s_tir import meta_schedule
    from tvm.s_tir.meta_schedule.database import MemoryDatabase, TuningRecord
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    load_intrinsics()
    name = task.workload.hash
    known, spent = journal.history("default", name, seed), 0
    if len(known) >= trials:
        return
    space = MetaScheduleSpace(task.workload)
    context = meta_schedule.TuneContext(
        space.module,
        target=space.tvm_target,
        space_generator="post-order-apply",
        search_strategy="evolutionary",
        task_name=task.workload.name,
        rand_state=seed + 1,
        num_threads=1,
    )
    model, database = meta_schedule.CostModel.create("xgb"), MemoryDatabase()
    context.pre_tuning(trials, BATCH, context.generate_design_space(), database, model)
    workload = database.commit_workload(space.module)
    while spent < trials and (candidates := context.generate_measure_candidates()):
        texts = [trace_text(candidate.sch) for candidate in candidates]
        fresh = list(dict.fromkeys(text for text in texts if text not in known))
        for schedule, seconds in measure(work, task, fresh, seed) if fresh else ():
            known.add(schedule, seconds)
            journal.add("default", name, seed, schedule, seconds)
        times = [known.seconds(text) if text in known else math.inf for text in texts]
        results = [
            RunnerResult([one], None) if math.isfinite(one) else RunnerResult(None, "failed")
            for one in times
        ]
        for candidate, one in zip(candidates, times, strict=True):
            trace, target = candidate.sch.trace, space.tvm_target
            record = TuningRecord(trace, workload, [min(one, 1e10)], target, candidate.args_info)
            database.commit_tuning_record(record)
        context.notify_runner_results(candidates, results)
        model.update(context, candidates, results)
        spent += len(texts)
    context.post_tuning()


def ratio(ours: SearchHistory, default: SearchHistory) -> float:
    """Return how many times as many measurements the default takes to what ours reached."""
    goal = default.best_seconds
    mine = ours.measurements_to(goal)
    return len(default) / mine if mine else len(default) / (len(ours) + 1)


def networks_to_tune(pack: Pack) -> list[str]:
    """Return the names of the two whole networks."""
    return [name for name in pack.names() if name.endswith(HELD_OUT)]


def main() -> None:
    """Measure what is missing, and print the ratio of each task and their mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--networks", action="store_true", help="Tune the two whole networks.")
    parser.add_argument("--work", type=Path, default=Path("build/tuning"))
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    if chosen.networks:
        tune_networks(chosen.model, chosen.trials, chosen.work)
        return
    model, journal = load_model(chosen.model), Journal(chosen.work / "measurements.jsonl")
    ratios = []
    for seed in range(chosen.seeds):
        for task in held_out_tasks(chosen.tasks):
            run_ours(chosen.work, journal, task, model, seed, chosen.trials)
            run_default(chosen.work, journal, task, seed, chosen.trials)
            pair = [journal.history(a, task.workload.hash, seed) for a in ("ours", "default")]
            ratios.append(ratio(*pair))
            print(f"{task.workload.name} seed {seed}: ratio {ratios[-1]:.1f}", flush=True)
    print(f"geometric mean of {len(ratios)}: {geometric_mean(ratios):.1f}")


def tune_networks(model: Path, trials: int, work: Path) -> None:
    """Tune the two networks with our model, and from scratch with the tenfold trials."""
    import graph_net as gn

    pack = networks("tenset")
    for name in networks_to_tune(pack):
        graph = pack.graph(name)
        ours = gn.tune(graph, trials=trials, model=model, work=work / "ours")
        scratch = gn.tune(graph, trials=10 * trials, way="online", work=work / "scratch")
        goal = ours.curve[-1][1] if ours.curve else math.nan
        when = next((count for count, seconds in scratch.curve if seconds <= goal), None)
        print(f"{name}: {goal * 1e3:.2f} ms after {trials}; from scratch after {when}", flush=True)


if __name__ == "__main__":
    main()
