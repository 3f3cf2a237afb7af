"""``graph-net programs``: schedules of tasks, measured here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, out
from graph_net.cli.programs_dataset import (
    count_programs,
    describe_programs,
    publish_programs,
    restore_programs,
)
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
programs_app.command("restore", cls=Verb)(restore_programs)
programs_app.command("stats", cls=Verb)(count_programs)
programs_app.command("card", cls=Verb)(describe_programs)
programs_app.command("show", cls=Verb)(show_programs)


@programs_app.command("collect", cls=Verb)
def collect_programs(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The directory of records to write them to."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu (TVM) or cuda (Triton).")] = "cpu",
    networks: Annotated[
        str,
        typer.Option(
            help="Where tasks come from: tenset (TenSet's 120; the default for cpu), corpus (for "
            "cuda), or a pack."
        ),
    ] = "",
    where: Annotated[
        str, typer.Option(help="Only networks for which this holds: \"name LIKE '%-1x%'\".")
    ] = "",
    tasks: Annotated[
        str, typer.Option(help='Only tasks of these names: "matmul_*,softmax_*".')
    ] = "",
    per_task: Annotated[
        int, typer.Option(help="Programs per task, at most; 0: 4000, 140 for cuda.", min=0)
    ] = 0,
    work: Annotated[
        Path, typer.Option(help="Directory of the journal; give the same one to resume.")
    ] = Path("build/programs"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builds at once; 0: one per core.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the schedules.")] = 0,
    turn: Annotated[
        int, typer.Option(help="Programs of one task measured in a row; 0: 32, 10 for cuda.", min=0)
    ] = 0,
    every: Annotated[
        bool, typer.Option(help="Include tasks that are part of a call, or only move data.")
    ] = False,
    quick: Annotated[
        float | None,
        typer.Option(help="Only tasks whose programs took this many seconds or less before."),
    ] = None,
    retry: Annotated[
        bool, typer.Option(help="Ask again for networks and tasks that failed before.")
    ] = False,
    budget: Annotated[
        str, typer.Option(help="Start nothing new after this long: 30m, 2h, ….")
    ] = "",
    ray: opt.Ray = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Write a bundle for a machine with a GPU (python BUNDLE) instead."),
    ] = None,
) -> None:
    """Draw schedules of the tasks of networks, build and time each, and store them.

    On a CPU, tasks are what TVM's Relax fuses a network into, and trials are forked from a process
    that is ready for their task. On a GPU, tasks are the products, convolutions and rows that
    Triton kernels compute; all cores compile, one process measures. One program runs at a time,
    from flushed caches; one in fifty is measured twice, turns apart. Resumes: programs that are in
    --work are not measured again, and everything that is there is stored.
    """
    from graph_net.api import collect_programs as api

    choice = api.TaskChoice(networks, where, tasks, every, quick, retry)
    if plan is not None:
        if device != "cuda":
            raise typer.BadParameter("--plan is for --device cuda; a CPU is measured here")
        count = api.plan_programs(plan, choice, per_task=per_task, seed=seed, turn=turn)
        err.print(f"{plan}: {count_phrase(count, 'task')}; run `python {plan.name}` with a GPU")
        return
    if output is None:
        raise typer.BadParameter("name the directory of records to write to: -o RECORDS")
    done = api.collect_programs(
        output, choice, device=device, per_task=per_task, work=work, jobs=jobs, seed=seed,
        turn=turn, budget=budget, cluster=ray,
    )  # fmt: skip
    for line in done.tally.table().splitlines():
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    stored, tasks = count_phrase(done.stored, "program"), count_phrase(done.tasks, "task")
    out.print(f"{stored} of {tasks} of {count_phrase(done.networks, 'network')} in {output}")
