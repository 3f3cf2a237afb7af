"""Draw schedules of the tasks of networks, measure and store them."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.options import parse_seconds
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.corpus.pack import Pack
    from graph_net.programs.collection.collect import Collection
    from graph_net.programs.collection.tasks import CollectedTask, Extraction


@dataclass(frozen=True)
class CollectedPrograms:
    """How many programs ended how, in how many seconds, and what is stored now."""

    outcomes: Counter[str]
    seconds: float
    stored: int
    tasks: int
    networks: int


@dataclass(frozen=True)
class TaskChoice:
    """Which tasks of networks get programs; ``quick`` is the most seconds one took before."""

    every: bool = False
    quick: float | None = None
    retry: bool = False


def collect_programs(
    output: Path,
    networks: str = "tenset",
    where: str = "",
    *,
    per_task: int = 4000,
    work: Path = Path("build/programs"),
    jobs: int = 0,
    seed: int = 0,
    turn: int = 32,
    choice: TaskChoice = TaskChoice(),  # noqa: B008 - frozen
    budget: str | float | None = None,
    progress: Display | bool = True,
) -> CollectedPrograms:
    """Measure programs of the tasks of networks, and store all that ``work`` holds in ``output``.

    Programs that are in ``work`` are not measured again.
    """
    from graph_net.corpus.query import select
    from graph_net.programs.collection.collect import Collection, Wanted
    from graph_net.programs.collection.networks import networks as pack_of
    from graph_net.programs.collection.publish import store
    from graph_net.programs.collection.tasks import Extraction, merge_tasks
    from graph_net.store.lock import hold_lock

    display = display_of(progress)
    limit = parse_seconds(budget) if budget else math.inf
    cores = jobs or os.cpu_count() or 1
    pack = pack_of(networks)
    ids = {row["name"]: row["id"] for row in select(pack, where or None)}
    with hold_lock(work):
        collection = Collection(work, Wanted(per_task, seed, turn), cores)
        extraction = Extraction(work / "tasks", os.cpu_count() or 1, ids)
        _extract(extraction, pack, cores, choice, display)
        tasks = _chosen(extraction, collection, choice)
        began = time.monotonic()
        outcomes = _measure(collection, tasks, began + limit, display)
        seconds = time.monotonic() - began
        for why in collection.failures(tasks):
            display.tell(f"{why} (--retry asks again)")
        for why in collection.lost:
            display.tell(f"{why}; the same command again goes on")
        known = merge_tasks(extraction.all_tasks(), every=True)
        measured = [task for task in known if collection.journal(task).done]
        stored = store(collection, measured, output)
    of_networks = {network for task in measured for network in task.weights}
    return CollectedPrograms(outcomes, seconds, stored, len(measured), len(of_networks))


def _extract(
    extraction: Extraction, pack: Pack, cores: int, choice: TaskChoice, display: Display
) -> None:
    """Find the tasks of networks that are not known yet."""
    if choice.retry:
        extraction.retry()
    missing = extraction.missing()
    with display.progress("tasks", len(missing)) as advance:
        extraction.run(pack.blobs(missing), cores, advance)
    for name, why in extraction.failures().items():
        display.tell(f"{name}: {why} (--retry asks again)")


def _chosen(
    extraction: Extraction, collection: Collection, choice: TaskChoice
) -> list[CollectedTask]:
    """The tasks that get programs; raises where there is none."""
    from graph_net.programs.collection.tasks import merge_tasks

    tasks = merge_tasks(extraction.tasks(), choice.every)
    if choice.quick is not None:
        tasks = [task for task in tasks if collection.journal(task).seconds() <= choice.quick]
    if not tasks:
        why = " that quick; without --quick all have programs first"
        raise ValueError(f"these networks have no task{'' if choice.quick is None else why}")
    if choice.retry:
        collection.retry(tasks)
    return tasks


def _measure(
    collection: Collection, tasks: Sequence[CollectedTask], until: float, display: Display
) -> Counter[str]:
    """How programs ended."""
    outcomes = Counter[str]()
    with display.progress("programs", collection.missing(tasks)) as advance:
        for program in collection.run(tasks):
            failure = program.failure
            outcomes[f"{failure.stage}: {failure.symptom}" if failure else "success"] += 1
            advance(failed=failure is not None)
            if time.monotonic() > until:
                break
    return outcomes
