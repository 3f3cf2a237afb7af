"""``graph-net verify``: this machine against a golden run."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.reference import COMPILER_HELP
from graph_net.cli.verify_table import show_environment, show_summary, show_table, tree_of

HOLDS, WORSE, UNUSABLE = 0, 1, 2
"""Exit codes: all as it was; something regressed; something could not be read or compared."""


def verify_golden(
    golden: Annotated[Path, typer.Argument(metavar="DIR", help="A golden run.")],
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; the reference's if not named.")
    ] = None,
    compiler: Annotated[
        str | None, typer.Option(help=f"Instead of the reference's. {COMPILER_HELP}")
    ] = None,
    t: Annotated[
        float, typer.Option("--t", help="Outputs are the same up to this tolerance level.")
    ] = -3.0,
    margin: Annotated[float, typer.Option(help="Within this two runs are equally fast.")] = 0.05,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builders; 0 for one a core.")] = 0,
    threads: Annotated[
        int, typer.Option(help="Of a graph; 0 for as many as the reference had.")
    ] = 0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one graph.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Run a golden run again here: the same outputs, and as fast? (`validate` checks graphs.)

    Inputs are drawn from the same seeds. Exit code 1 if outputs differ, a graph fails or is surely
    slower; 2 if the golden run cannot be used or is damaged.
    """
    from graph_net.api.golden import verify_reference
    from graph_net.golden.verdict import Standing

    results = verify_reference(
        golden, device=device, compiler=compiler, t=t, margin=margin, limit=limit, jobs=jobs,
        threads=threads, gigabytes=gigabytes, timeout=timeout,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps([tree_of(run, each) for run, each in results], indent=1))
    else:
        show_environment(results)
        show_table([each for _, each in results])
        show_summary([each for _, each in results], t, margin)
    standings = {each.standing for _, each in results}
    if Standing.DAMAGED in standings or standings <= {Standing.NO_REFERENCE, Standing.NOT_JUDGED}:
        raise typer.Exit(UNUSABLE)
    raise typer.Exit(WORSE if any(each.worse for _, each in results) else HOLDS)
