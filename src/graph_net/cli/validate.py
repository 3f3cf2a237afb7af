"""``graph-net validate``: check graphs by the requirements of GraphNet's paper."""

from __future__ import annotations

import json as jsonlib
import time
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.verdicts import print_failures, print_summary, print_verdicts
from graph_net.store.files import read_text


def validate_graphs(
    source: Annotated[
        Path | None,
        typer.Argument(help="A pack, or samples; the shipped corpus if none is named."),
    ] = None,
    where: opt.Where = None,
    names: Annotated[
        Path | None, typer.Option(help="A file with the names of graphs, one per line.")
    ] = None,
    limit: opt.Limit = None,
    jobs: opt.Jobs = 0,
    seconds: Annotated[int, typer.Option(help="Time limit for one graph.")] = 120,
    gigabytes: opt.Gigabytes = 8.0,
    real_bytes: Annotated[
        int, typer.Option(help="Run on values if the tensors take at most this many bytes.")
    ] = 200_000_000,
    real_flops: Annotated[
        int, typer.Option(help="Run on values if that costs at most this many operations.")
    ] = 20_000_000_000,
    against_models: Annotated[
        bool, typer.Option(help="Build each model again and compare its outputs too.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Store verdicts here as they come; the same command resumes from them."),
    ] = None,
    ray: opt.Ray = None,
    json: Annotated[bool, typer.Option("--json", help="Print every verdict as JSON.")] = False,
) -> None:
    """Check graphs by the five requirements of GraphNet's paper (`verify` checks a machine).

    Each graph is run in a process of its own, on fake tensors, and on values if it is small
    enough; it is captured again from what is stored and cut into pieces, and both must give the
    same outputs. Exit code 1 if a graph fails.
    """
    from graph_net.api.validate import candidates, validate

    listed = None if names is None else set(read_text(names).split("\n"))
    graphs = candidates(source, where, listed, limit)
    start = time.monotonic()
    verdicts = validate(
        graphs, jobs=jobs, seconds=seconds, gigabytes=gigabytes, real_bytes=real_bytes,
        real_flops=real_flops, against_models=against_models, keep=keep, cluster=ray,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps([verdict.as_json() for verdict in verdicts], indent=1))
    else:
        print_verdicts(verdicts, graphs.libraries)
        print_failures(verdicts)
    print_summary(verdicts, time.monotonic() - start)
    if not all(verdict.ok for verdict in verdicts):
        raise typer.Exit(1)
