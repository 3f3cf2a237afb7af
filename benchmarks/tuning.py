"""Tuning on this CPU: a pre-trained model in our search against MetaSchedule's default.

    graph-net learn cpu --model blend -o build/cpu-blend
    graph-net learn cpu --model blend --features tiles+code -o build/cpu-code
    python -m benchmarks.tuning --model build/cpu-code --draft build/cpu-blend -o docs/studies/cpu
    python -m benchmarks.tuning --model build/cpu-code --draft build/cpu-blend --networks \
        -o docs/studies/cpu

Tasks are of networks that ``cpu`` holds out, so the model has not seen them; with ``--networks``
they are all tasks of two whole networks. Both arms build and time programs in the same forked,
placed trials of ``graph_net.search.tvm``. ``default`` is MetaSchedule's own evolutionary search
from scratch with its own XGBoost model, which here learns after every 16 programs (by itself: after
every 64); what it asks to have measured is measured there. Measurements are kept in ``--work``:
killed, the same command goes on. Run it on a quiet machine.

The goal is the best that the default reached; the ratio is the number of its measurements when it
reached it first, over ours. If ours never does, ours counts as one more than it was given.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.tuning_report import Row, needed, network_curve, page
from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.learn.cost_model import CostModel
from graph_net.learn.model_registry import load_model
from graph_net.learn.record_folders import read_tasks
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.dataset.splits import SplitRule, load_splits
from graph_net.programs.spaces import Workload
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, trace_text
from graph_net.programs.view.overview import TaskSummary, tables
from graph_net.search.history import SearchHistory
from graph_net.search.models import make_proposer
from graph_net.search.proposer import RandomProposer
from graph_net.search.tvm.tuning_round import EVOLUTION, TuningRound, run_round
from graph_net.store.journal import LineJournal, whole_lines

SEEDS = 3
BATCH, DEFAULT_BATCH = 8, 16
OURS, COMPILED, DEFAULT = "ours", "compiled", "default"
DATA = Path("dataset/programs/cpu")
Models = tuple[CostModel, CostModel | None]
"""What ranks candidates, and what tells which of them it sees."""
NETWORKS = ("tenset/resnet50-1x224", "tenset/bert_tiny-1x128")
"""The two whole networks; the data set holds both out."""


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
    """Return tasks of held-out networks that have a choice, from the most work to the least."""
    tested = load_splits(DATA.parent).tested(SplitRule.NETWORK, "cpu")
    tasks = [task for task in read_tasks(DATA) if task.task in tested and task.programs > 1]
    tasks.sort(key=lambda task: -task.flops)
    return to_tune(tasks[:: max(1, len(tasks) // count)][:count])


def network_tasks(network: str) -> list[CollectedTask]:
    """Return the tasks of a held-out network that have a choice of programs."""
    tested = load_splits(DATA.parent).tested(SplitRule.NETWORK, "cpu")
    tasks = [task for task in read_tasks(DATA) if network in dict(task.weights)]
    if strangers := [task.kernel for task in tasks if task.task not in tested]:
        raise SystemExit(f"{network} is not held out: {strangers[0]} was learned from")
    return to_tune([task for task in tasks if task.programs > 1])


def to_tune(tasks: Sequence[TaskSummary]) -> list[CollectedTask]:
    """Return tasks of the data set as a search takes them."""
    with tables(DATA) as connection:
        modules = dict(connection.execute("SELECT workload, module FROM workloads").fetchall())
    return [
        CollectedTask(
            Workload("metaschedule", t.kernel, t.workload, modules[t.workload], t.flops),
            t.structure, t.graph, weights=dict(t.weights),
        )
        for t in tasks
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
    work: Path, journal: Journal, task: CollectedTask, models: Models, seed: int, trials: int
) -> None:
    """Search with the pre-trained model, corrected by a local process."""
    arm = arm_of(models)
    history = journal.history(arm, task.workload.hash, seed)
    while len(history) < trials:
        count = min(BATCH, trials - len(history))
        proposer = make_proposer("process", models[0], seed, evolution=EVOLUTION, draft=models[1])
        process = TuningRound(task, proposer, history, count, 2, seed)
        programs, problems = run_round(work, 2, process)
        if not programs:
            print(f"{task.workload.name}: {problems}", flush=True)
            return
        for program in programs:
            seconds = fmean(program.costs) if program.costs else math.inf
            history.add(program.schedule, seconds)
            journal.add(arm, task.workload.hash, seed, program.schedule, seconds)


def run_default(work: Path, journal: Journal, task: CollectedTask, seed: int, trials: int) -> None:
    """Run MetaSchedule's evolutionary search with its own model; we measure what it proposes.

    A search that was killed begins anew: what it proposes again is answered from the journal.
    """
    from tvm.s_tir import meta_schedule
    from tvm.s_tir.meta_schedule.database import MemoryDatabase, TuningRecord
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    load_intrinsics()
    name = task.workload.hash
    known, spent = journal.history(DEFAULT, name, seed), 0
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
        num_threads=2,
    )
    model, database = meta_schedule.CostModel.create("xgb"), MemoryDatabase()
    context.pre_tuning(trials, DEFAULT_BATCH, context.generate_design_space(), database, model)
    workload = database.commit_workload(space.module)
    while spent < trials and (candidates := context.generate_measure_candidates()):
        texts = [trace_text(candidate.sch) for candidate in candidates]
        fresh = list(dict.fromkeys(text for text in texts if text not in known))
        for schedule, seconds in measure(work, task, fresh, seed) if fresh else ():
            known.add(schedule, seconds)
            journal.add(DEFAULT, name, seed, schedule, seconds)
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


def search_task(
    work: Path,
    journal: Journal,
    task: CollectedTask,
    models: Models,
    seed: int,
    trials: Sequence[int],
) -> list[SearchHistory]:
    """Search in both arms as far as that was not done before; return what was measured."""
    run_ours(work, journal, task, models, seed, trials[0])
    run_default(work, journal, task, seed, trials[1])
    return [journal.history(arm, task.workload.hash, seed) for arm in (arm_of(models), DEFAULT)]


def arm_of(models: Models) -> str:
    """Return the name under which measurements with these models are kept."""
    return OURS if models[1] is None else COMPILED


def main() -> None:
    """Measure what is missing, and print the ratio of each task and their mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--draft", type=Path, help="A model of tiles, if --model compiles.")
    parser.add_argument("--trials", type=int, nargs=2, default=(16, 64), help="ours, default's")
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--networks", nargs="*", help="Tune whole networks; alone: the two.")
    parser.add_argument("--work", type=Path, default=Path("build/tuning"))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/studies"))
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    models = (load_model(chosen.model), load_model(chosen.draft) if chosen.draft else None)
    journal = Journal(chosen.work / "measurements.jsonl")
    rows: list[Row] = []

    def tuned(task: CollectedTask, seed: int) -> list[SearchHistory]:
        both = search_task(chosen.work, journal, task, models, seed, chosen.trials)
        ours, default = needed([one.curve for one in both])
        print(f"{task.workload.name} seed {seed}: {default} / {ours}", flush=True)
        return both

    for seed in range(chosen.seeds):
        if chosen.networks is not None:
            for network in chosen.networks or NETWORKS:
                tasks = network_tasks(network)
                found = [tuned(task, seed) for task in tasks]
                weights = [float(task.weights[network]) for task in tasks]
                arms = zip(*found, strict=True)
                rows.append((network, seed, [network_curve(arm, weights) for arm in arms]))
        else:
            for task in held_out_tasks(chosen.tasks):
                both = tuned(task, seed)
                title = f"{task.workload.name} ({task.workload.hash[:4]})"
                rows.append((title, seed, [list(one.curve) for one in both]))
    options = f"--model {chosen.model}" + (f" --draft {chosen.draft}" if chosen.draft else "")
    options += " --trials " + " ".join(map(str, chosen.trials))
    name = "tuning_tasks"
    if chosen.networks is not None:
        name, options = "tuning_networks", " ".join([options, "--networks", *chosen.networks])
    print(page(rows, name, options, chosen.output))


if __name__ == "__main__":
    main()
