"""``graph-net validate``: whether graphs are what GraphNet's paper asks of a sample."""

from __future__ import annotations

import json as jsonlib
import time
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.list import WHERE_HELP
from graph_net.cli.verdicts import failure_table, summary, verdict_table
from graph_net.store.files import read_text


def validate_graphs(
    source: Annotated[
        Path | None,
        typer.Argument(help="A pack, or samples; the shipped corpus if none is named."),
    ] = None,
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    names: Annotated[
        Path | None, typer.Option(help="A file with the names of graphs, one a line.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; 0 for one a core.")] = 0,
    seconds: Annotated[int, typer.Option(help="Time limit for one graph.")] = 120,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one graph.")] = 8.0,
    real_bytes: Annotated[
        int, typer.Option(help="Run on values where the tensors take at most so many bytes.")
    ] = 200_000_000,
    real_flops: Annotated[
        int, typer.Option(help="Run on values where that costs at most so many operations.")
    ] = 20_000_000_000,
    against_models: Annotated[
        bool, typer.Option(help="Build each model again and compare its outputs too.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep verdicts here as they come; the same command goes on from them."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every verdict as JSON.")] = False,
) -> None:
    """Check graphs by the five requirements of GraphNet's paper (`verify` checks a machine).

    Each graph is run in a process of its own, on fake tensors, and on values where it is small
    enough; it is captured again from what is stored and cut into pieces, and both must give the
    same outputs. Exit code 1 if a graph fails.
    """
    from graph_net.api.validate import candidates, validate_candidates

    listed = None if names is None else set(read_text(names).split("\n"))
    found = candidates(source, where, listed, limit)
    start = time.monotonic()
    told = validate_candidates(
        found, jobs=jobs, seconds=seconds, gigabytes=gigabytes, real_bytes=real_bytes,
        real_flops=real_flops, against_models=against_models, keep=keep,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps([verdict.as_json() for verdict in told], indent=1))
    else:
        verdict_table(told, found.libraries)
        failure_table(told)
    summary(told, time.monotonic() - start)
    if not all(verdict.ok for verdict in told):
        raise typer.Exit(1)
