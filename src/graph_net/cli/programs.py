"""``graph-net programs``: schedules of tasks, measured here."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.api.options import parse_seconds
from graph_net.cli.common import err, out
from graph_net.cli.programs_dataset import count_programs, describe_programs
from graph_net.cli.programs_features import make_features
from graph_net.cli.programs_show import show_programs
from graph_net.cli.verbs import Chapter, Verb
from graph_net.display.progress import progress
from graph_net.printable import counted

if TYPE_CHECKING:
    from graph_net.programs.collect import Collection
    from graph_net.programs.tasks import CollectedTask

programs_app = typer.Typer(
    cls=Chapter,
    no_args_is_help=True,
    help="Programs: schedules of tasks, measured here; what they look like.",
)
programs_app.command("features", cls=Verb)(make_features)
programs_app.command("stats", cls=Verb)(count_programs)
programs_app.command("card", cls=Verb)(describe_programs)
programs_app.command("show", cls=Verb)(show_programs)
NETWORKS = "tenset (TenSet's 120), corpus, or a pack."


@programs_app.command("collect", cls=Verb)
def collect_programs(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The directory of records to write them to.")
    ],
    networks: Annotated[str, typer.Option(help=f"Where tasks come from: {NETWORKS}")] = "tenset",
    where: Annotated[
        str, typer.Option(help="Only networks for which this holds: \"name LIKE '%-1x%'\".")
    ] = "",
    per_task: Annotated[
        int, typer.Option(help="At most so many programs of a task.", min=1)
    ] = 4000,
    work: Annotated[
        Path, typer.Option(help="Where results wait; the same place again resumes.")
    ] = Path("build/programs"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builds at once; 0: one a core.")] = 0,
    seed: Annotated[int, typer.Option(help="What schedules are drawn with.")] = 0,
    turn: Annotated[int, typer.Option(help="Programs of a task before the next.", min=1)] = 32,
    every: Annotated[
        bool, typer.Option(help="Also tasks that are a part of a call, and those that only move.")
    ] = False,
    quick: Annotated[
        float | None,
        typer.Option(help="Only tasks whose programs took so many seconds each, or less, before."),
    ] = None,
    retry: Annotated[
        bool, typer.Option(help="Ask again for networks and tasks that failed before.")
    ] = False,
    budget: Annotated[str, typer.Option(help="Stop after 30m, 2h, …; again goes on.")] = "",
) -> None:
    """Draw schedules of the tasks of networks, build and time each, and store them.

    Tasks are what TVM's Relax fuses a network into. Trials are forked from a process that is ready
    for their task; one runs at a time, from flushed caches, with TenSet's number of repeats and
    five seconds at most. Resumes: programs that are in --work are not measured again. Everything
    that is in --work is stored, whatever --where says this time.
    """
    from graph_net.corpus.query import select
    from graph_net.files import held
    from graph_net.programs.collect import Collection, Wanted
    from graph_net.programs.networks import networks as pack_of
    from graph_net.programs.store import store
    from graph_net.programs.tasks import Extraction, merged

    limit = parse_seconds(budget) if budget else None
    cores = jobs or os.cpu_count() or 1
    pack = pack_of(networks)
    ids = {row["name"]: row["id"] for row in select(pack, where or None)}
    with held(work):
        collection = Collection(work, Wanted(per_task, seed, turn), cores)
        extraction = Extraction(work / "tasks", os.cpu_count() or 1, ids)
        if retry:
            extraction.retry()
        missing = extraction.missing()
        with progress("tasks", len(missing)) as advance:
            extraction.run(pack.blobs(missing), cores, advance)
        for name, why in extraction.failures().items():
            err.print(f"{name}: {why} (--retry asks again)")
        tasks = merged(extraction.tasks(), every)
        if quick is not None:
            tasks = [task for task in tasks if collection.journal(task).seconds() <= quick]
        if not tasks:
            why = "" if quick is None else " that quick; without --quick all have programs first"
            raise ValueError(f"these networks have no task{why}")
        if retry:
            collection.retry(tasks)
        began = time.monotonic()
        outcomes = _measure(collection, tasks, began + limit if limit else math.inf)
        for why in collection.failures(tasks):
            err.print(f"{why} (--retry asks again)")
        for why in collection.lost:
            err.print(f"{why}; the same command again goes on")
        _report(outcomes, time.monotonic() - began)
        known = merged(extraction.all_tasks(), every=True)
        measured = [task for task in known if collection.journal(task).done]
        stored = store(collection, measured, output)
    networks_of = {network for task in measured for network in task.weights}
    of = f"{counted(len(measured), 'task')} of {counted(len(networks_of), 'network')}"
    out.print(f"{counted(stored, 'program')} of {of} in {output}")


def _measure(collection: Collection, tasks: Sequence[CollectedTask], until: float) -> Counter[str]:
    """How programs ended."""
    outcomes = Counter[str]()
    with progress("programs", collection.missing(tasks)) as advance:
        for program in collection.run(tasks):
            failure = program.failure
            outcomes[f"{failure.stage}: {failure.symptom}" if failure else "success"] += 1
            advance(failed=failure is not None)
            if time.monotonic() > until:
                break
    return outcomes


def _report(outcomes: Counter[str], seconds: float) -> None:
    if not outcomes:
        return
    table = Table(title="measured now", title_justify="left")
    table.add_column("outcome")
    table.add_column("programs", justify="right")
    for outcome, count in outcomes.most_common():
        table.add_row(outcome, str(count))
    out.print(table)
    out.print(f"{3600 * outcomes.total() / seconds:,.0f} programs an hour")
