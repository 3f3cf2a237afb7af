"""Draw schedules of the tasks of networks, measure and store them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.options import parse_seconds
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.cluster.connection import Cluster
    from graph_net.corpus.pack import Pack
    from graph_net.isolate import MakePool
    from graph_net.programs.collection.bench import Bench
    from graph_net.programs.collection.collect import Collection
    from graph_net.programs.collection.plan import Wanted
    from graph_net.programs.collection.tally import Tally
    from graph_net.programs.collection.task import CollectedTask
    from graph_net.programs.collection.tasks import Extraction

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class CollectedPrograms:
    """What was measured now, and what is stored."""

    tally: Tally
    stored: int
    tasks: int
    networks: int


@dataclass(frozen=True)
class TaskChoice:
    """Which networks tasks come from, and which of these tasks get programs."""

    networks: str = ""
    """``tenset``, ``corpus`` or a pack; empty: tenset on a CPU, corpus on a GPU."""
    where: str = ""
    """A condition on the networks, in SQL."""
    tasks: str = ""
    """Names of tasks, with commas between them; ``*`` stands for any text."""
    every: bool = False
    quick: float | None = None
    """The most seconds that a program of a task took before."""
    retry: bool = False


def plan_programs(
    bundle: Path,
    choice: TaskChoice = TaskChoice(),  # noqa: B008 - frozen
    *,
    per_task: int = 0,
    seed: int = 0,
    turn: int = 0,
) -> int:
    """Write a bundle that collects programs on another machine's GPU; return how many tasks."""
    from graph_net.programs.collection.bundle import write_bundle

    tasks = _named(_kernel_tasks(choice), choice.tasks)
    write_bundle(bundle, tasks, _wanted("cuda", per_task, seed, turn))
    return len(tasks)


def collect_programs(
    output: Path,
    choice: TaskChoice = TaskChoice(),  # noqa: B008 - frozen
    *,
    device: str = "cpu",
    per_task: int = 0,
    work: Path = Path("build/programs"),
    jobs: int = 0,
    seed: int = 0,
    turn: int = 0,
    budget: str | float | None = None,
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> CollectedPrograms:
    """Measure programs of the tasks of networks, and store all that ``work`` holds in ``output``.

    Programs that are in ``work`` are not measured again. With a ``cluster`` its nodes
    measure: those that are the same device.
    """
    from graph_net.cluster.connection import connected
    from graph_net.programs.collection.collect import Collection
    from graph_net.programs.collection.collection_dir import JOURNAL, claim
    from graph_net.programs.collection.publish import store
    from graph_net.store.lock import hold_lock

    display = display_of(progress)
    until = time.monotonic() + parse_seconds(budget) if budget else math.inf
    wanted = _wanted(device, per_task, seed, turn)
    open_bench = _open_cpu if device == "cpu" else _open_cuda
    with connected(cluster) as nodes, hold_lock(work), ExitStack() as opened:
        if nodes is None:
            here = open_bench(work, jobs, choice, display)
            bench, tasks, known = opened.enter_context(here)
        else:
            bench, tasks, known = _open_cluster(nodes, device, work, jobs, choice, until, display)
            until = math.inf  # the bench begins nothing after it, and waits for what is out
        machine = claim(work, bench.device)
        collection = Collection(work / JOURNAL, wanted, bench)
        tally = _measure(collection, _choose(tasks, collection, choice), until, display)
        outcomes = collection.journal.outcomes
        measured = [task for task in known if outcomes.get(task.workload.hash)]
        stored = store(collection, machine, measured, output) if measured else 0
    networks = {network for task in measured for network in task.weights}
    return CollectedPrograms(tally, stored, len(measured), len(networks))


Opened = tuple["Bench", "list[CollectedTask]", "list[CollectedTask]"]
"""A bench, the tasks that may get programs now, and all whose programs are stored."""


@contextmanager
def _open_cpu(work: Path, jobs: int, choice: TaskChoice, display: Display) -> Iterator[Opened]:
    from graph_net.isolate import Pool
    from graph_net.programs.collection.cpu_bench import CpuBench

    cores = os.cpu_count() or 1
    tasks, known = _relax_tasks(work, cores, jobs or cores, choice, display, Pool)
    yield CpuBench(work, jobs or cores), tasks, known


def _relax_tasks(
    work: Path, cores: int, jobs: int, choice: TaskChoice, display: Display, make_pool: MakePool
) -> tuple[list[CollectedTask], list[CollectedTask]]:
    """Return the chosen tasks that TVM finds in networks for this many cores, and all of them."""
    from graph_net.corpus.query import select
    from graph_net.programs.collection.networks import networks
    from graph_net.programs.collection.tasks import Extraction, merge_tasks

    pack = networks(choice.networks or "tenset")
    ids = {row["name"]: row["id"] for row in select(pack, choice.where or None)}
    extraction = Extraction(work / "tasks", cores, ids)
    _extract(extraction, pack, jobs, choice, display, make_pool)
    tasks = merge_tasks(extraction.tasks(), choice.every)
    return tasks, merge_tasks(extraction.all_tasks(), every=True)


def _open_cluster(
    nodes: Cluster,
    device: str,
    work: Path,
    jobs: int,
    choice: TaskChoice,
    until: float,
    display: Display,
) -> Opened:
    """Return the bench of a cluster; its tasks are for the cores that its nodes have."""
    from graph_net.cluster.program_bench import ClusterBench, ProgramLanes, find_device
    from graph_net.programs.collection.collection_dir import claimed_device

    kernels = _kernel_tasks(choice) if device != "cpu" else []
    lanes = ProgramLanes(device, jobs, kernels[0].workload if kernels else None)
    wanted = find_device(nodes, lanes, claimed_device(work), display.tell)
    tasks = known = kernels
    if device == "cpu":
        tasks, known = _relax_tasks(work, wanted.cores, jobs, choice, display, nodes.pool)
    bench = ClusterBench(nodes, replace(lanes, wanted=wanted), work, until, display.tell)
    return bench, tasks, known


@contextmanager
def _open_cuda(work: Path, jobs: int, choice: TaskChoice, display: Display) -> Iterator[Opened]:
    from graph_net.programs.triton.cuda_bench import NoGpu, open_cuda_bench

    tasks = _kernel_tasks(choice)
    try:
        with open_cuda_bench(tasks[0].workload, jobs) as bench:
            yield bench, tasks, tasks
    except NoGpu as error:
        raise NoGpu(f"{error}; --plan FILE writes a bundle for a machine that has one") from error


def _kernel_tasks(choice: TaskChoice) -> list[CollectedTask]:
    """Return the tasks of the corpus for kernels on a GPU; raises where there is none."""
    from graph_net.corpus.query import select
    from graph_net.programs.collection.kernel_tasks import NETWORKS, find_tasks
    from graph_net.programs.collection.networks import networks

    pack = networks(choice.networks or "corpus")
    names = {row["name"] for row in select(pack, choice.where)} if choice.where else None
    chosen = [network for network in NETWORKS if names is None or network.graph in names]
    if not chosen:
        raise ValueError("none of the networks for kernels on a GPU is among these")
    return find_tasks(pack, chosen)


def _wanted(device: str, per_task: int, seed: int, turn: int) -> Wanted:
    from graph_net.programs.collection.plan import Wanted

    if device not in DEVICES:
        raise ValueError(f"unknown device {device!r}; known: {', '.join(DEVICES)}")
    usual = Wanted(4000, seed, 32) if device == "cpu" else Wanted(140, seed, 10)
    return replace(usual, per_task=per_task or usual.per_task, turn=turn or usual.turn)


def _extract(
    extraction: Extraction,
    pack: Pack,
    jobs: int,
    choice: TaskChoice,
    display: Display,
    make_pool: MakePool,
) -> None:
    """Find the tasks of networks that are not known yet."""
    if choice.retry:
        extraction.retry()
    missing = extraction.missing()
    with display.progress("tasks", len(missing)) as advance:
        extraction.run(pack.blobs(missing), jobs, advance, make_pool)
    for name, why in extraction.failures().items():
        display.tell(f"{name}: {why} (--retry asks again)")


def _choose(
    tasks: list[CollectedTask], collection: Collection, choice: TaskChoice
) -> list[CollectedTask]:
    """Return the tasks that get programs; raises where there is none."""
    tasks = _named(tasks, choice.tasks)
    if choice.quick is not None:
        seconds = collection.journal.seconds
        tasks = [task for task in tasks if seconds(task.workload.hash) <= choice.quick]
    if not tasks:
        why = " that quick; without --quick all have programs first"
        raise ValueError(f"these networks have no task{'' if choice.quick is None else why}")
    if choice.retry:
        collection.retry(tasks)
    return tasks


def _named(tasks: list[CollectedTask], names: str) -> list[CollectedTask]:
    """Return the tasks whose kernel one of ``names`` matches; raises where a name matches none."""
    patterns = [name.strip() for name in names.split(",") if name.strip()]
    matched = {
        pattern: [task for task in tasks if fnmatchcase(task.workload.name, pattern)]
        for pattern in patterns
    }
    if strange := [pattern for pattern, found in matched.items() if not found]:
        raise ValueError(f"these networks have no task named {', '.join(strange)}")
    chosen = {task.workload.hash for found in matched.values() for task in found}
    return [task for task in tasks if task.workload.hash in chosen] if patterns else tasks


def _measure(
    collection: Collection, tasks: Sequence[CollectedTask], until: float, display: Display
) -> Tally:
    """Measure what is missing, and say what failed."""
    from graph_net.programs.collection.tally import Tally

    tally = Tally()
    with display.progress("programs", collection.missing(tasks)) as advance:
        for program in collection.run(tasks, until):
            tally.add(program)
            advance(failed=program.failure is not None)
    for why in collection.failures(tasks):
        display.tell(f"{why} (--retry asks again)")
    for why in collection.lost:
        display.tell(f"{why}; the same command again continues")
    return tally
