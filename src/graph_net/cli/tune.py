"""``graph-net tune``: search for fast programs of a graph's tasks."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, out


def tune_graph(
    graph: opt.Graph,
    compiler: Annotated[str, typer.Option(help="What is tuned: tvm.")] = "tvm",
    trials: Annotated[int, typer.Option(help="Measurements, at most.", min=1)] = 200,
    model: Annotated[
        Path | None,
        typer.Option(help="A cost model to start from: a folder that `graph-net learn` wrote."),
    ] = None,
    draft: Annotated[
        Path | None,
        typer.Option(
            help="For a --model of tiles+code: a model of tiles, which tells what is compiled."
        ),
    ] = None,
    way: Annotated[
        str,
        typer.Option(
            help="How to search: random, scratch or online; with --model pretrained, residual, "
            "process, transfer or in_context."
        ),
    ] = "",
    work: Annotated[
        Path, typer.Option(help="Where measurements go; the same directory again resumes.")
    ] = Path("build/tune"),
    batch: Annotated[int, typer.Option(help="Programs of a task per round.", min=1)] = 8,
    jobs: opt.Jobs = 0,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Tune a graph: search its tasks for fast programs, and print the compiler to bench.

    Programs are built and timed in confined processes. At the end the first and the best program
    of every task are measured again in turns, and the gain is printed with an interval. Killed, the
    same command goes on.
    """
    from graph_net.api.tune import tune

    tuned = tune(
        graph, compiler, trials=trials, model=model, draft=draft, way=way, work=work,
        batch=batch, jobs=jobs, seed=seed,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps(tuned.as_json(), indent=1))
        return
    for problem in tuned.problems[:3]:
        err.print(problem, markup=False, highlight=False)
    if tuned.final is not None:
        gain = tuned.final.speedup
        out.print(
            f"{gain.value:.2f}× the first programs ({gain.low:.2f} to {gain.high:.2f}, 95 %)",
            highlight=False,
        )
    out.print(f"graph-net bench {tuned.name} --compilers '{tuned.compiler}'", markup=False)
