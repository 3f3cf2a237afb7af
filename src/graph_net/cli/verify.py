"""``graph-net verify``: compare this machine with a golden run."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.reference import COMPILER_HELP
from graph_net.cli.verify_table import (
    print_environment,
    print_results,
    print_summary,
    verified_json,
)

HOLDS, WORSE, UNUSABLE = 0, 1, 2
"""Exit codes: nothing regressed; something did; something could not be read or compared."""


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
    margin: Annotated[float, typer.Option(help="Runs within this share are equally fast.")] = 0.05,
    limit: opt.Limit = None,
    jobs: opt.Jobs = 0,
    threads: Annotated[
        int, typer.Option(help="Threads of a graph; 0 for those of the reference.")
    ] = 0,
    gigabytes: opt.Gigabytes = 8.0,
    timeout: opt.Timeout = 600.0,
    json: opt.Json = False,
) -> None:
    """Repeat a golden run here and compare outputs and times (`validate` checks graphs).

    Inputs are drawn from the same seeds. Exit code 1 if outputs differ, a graph fails or is
    significantly slower; 2 if the golden run cannot be used or is damaged.
    """
    from graph_net.api.golden import verify_reference
    from graph_net.golden.verdict import Standing

    results = verify_reference(
        golden, device=device, compiler=compiler, t=t, margin=margin, limit=limit, jobs=jobs,
        threads=threads, gigabytes=gigabytes, timeout=timeout,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps([verified_json(run, result) for run, result in results], indent=1))
    else:
        print_environment(results)
        verified = [result for _, result in results]
        print_results(verified)
        print_summary(verified, t, margin)
    standings = {result.standing for _, result in results}
    if Standing.DAMAGED in standings or standings <= {Standing.NO_REFERENCE, Standing.NOT_JUDGED}:
        raise typer.Exit(UNUSABLE)
    raise typer.Exit(WORSE if any(result.worse for _, result in results) else HOLDS)
