"""``graph-net programs``: schedules of tasks, measured here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from graph_net.cli.common import out
from graph_net.cli.programs_dataset import count_programs, describe_programs, publish_programs
from graph_net.cli.programs_features import make_features
from graph_net.cli.programs_show import show_programs
from graph_net.cli.verbs import Chapter, Verb
from graph_net.printable import count_phrase

programs_app = typer.Typer(
    cls=Chapter,
    no_args_is_help=True,
    help="Programs: schedules of tasks, measured here; what they look like.",
)
programs_app.command("features", cls=Verb)(make_features)
programs_app.command("publish", cls=Verb)(publish_programs)
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
    from graph_net.api import collect_programs as api

    made = api.collect_programs(
        output, networks, where, per_task=per_task, work=work, jobs=jobs, seed=seed, turn=turn,
        choice=api.TaskChoice(every, quick, retry), budget=budget,
    )  # fmt: skip
    _report(made.outcomes, made.seconds)
    of = f"{count_phrase(made.tasks, 'task')} of {count_phrase(made.networks, 'network')}"
    out.print(f"{count_phrase(made.stored, 'program')} of {of} in {output}")


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
