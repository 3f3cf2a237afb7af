"""``graph-net study``: a question about learning, answered by many small trainings."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.cli.evaluate import CACHE_HELP, DATA_HELP, SPLIT_HELP
from graph_net.cli.learn import FEATURES_HELP

NAME_HELP = (
    "architectures, metrics, size, transfer, residual, few_shot, layouts, layout_balance, "
    "layout_analytical, layout_unseen or layout_compilers."
)


def run_study(
    name: Annotated[str, typer.Argument(help=NAME_HELP)],
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where its page and its picture are written.")
    ] = Path("build/studies"),
    spaces: Annotated[
        str,
        typer.Option(
            help="Tasks of which every program was measured, for metrics; for layout_unseen the "
            "layouts to judge on."
        ),
    ] = "",
    split: Annotated[str, typer.Option(help=SPLIT_HELP)] = "network",
    features: Annotated[str, typer.Option(help=FEATURES_HELP)] = "auto",
    model: Annotated[
        list[str] | None,
        typer.Option(help="Of architectures, only this model beside the baseline; repeatable."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Trainings of each kind.", min=1, max=100)] = 3,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Trainings at once; 0: cores.")] = 0,
    work: Annotated[
        Path, typer.Option(help="Directory of the journal; give the same one to resume.")
    ] = Path("build/studies"),
    cache: Annotated[Path | None, typer.Option(help=CACHE_HELP)] = None,
    ray: opt.Ray = None,
) -> None:
    """Answer a question about learning: a table and a picture from many small trainings.

    architectures: which model, with which loss. metrics: which metric predicts what a search takes.
    size: more tasks, or more programs of each. transfer: what another platform's programs tell.
    residual: a local model on top of a pre-trained one. few_shot: how many programs of a new task
    must be measured. layouts: which model ranks layouts of TpuGraphs' files, with which loss and
    join (--split within_task or files). Of a platform of layouts or a journal: layout_balance, what
    few families with most of the layouts cost; layout_analytical, an analytical cost and a
    correction; layout_unseen, how other graphs are ranked; layout_compilers, eager's ranking
    against Inductor's. Trainings run in processes of their own; one that dies is named and costs
    itself alone. Killed, the same command goes on.
    """
    from graph_net.api.study import study

    outcome = study(
        name, data, spaces=spaces or None, split=split, features=features, models=model or (),
        seeds=seeds, jobs=jobs, work=work, output=output, cache=cache,
        command=shlex.join(["graph-net", *sys.argv[1:]]), cluster=ray,
    )  # fmt: skip
    err.print(f"{len(outcome.cells)} trainings, {len(outcome.failures)} failed")
