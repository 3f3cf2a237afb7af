"""``graph-net run``: execute a graph eagerly on its own tensors."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer

from graph_net.api import run as api
from graph_net.cli import options as opt
from graph_net.cli.common import new_table, out


def run_graph(
    graph: opt.Graph,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the tensors and of random calls.")] = 0,
    lower: Annotated[bool, typer.Option(help="Lower to ATen operators first.")] = False,
    memory: Annotated[
        float, typer.Option(help="Refuse graphs whose inputs take more GiB than this.")
    ] = 16.0,
    seconds: Annotated[int, typer.Option(help="Stop after this many seconds.")] = api.SECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print the outputs as JSON.")] = False,
) -> None:
    """Run a graph on tensors made from its recipes; print its outputs' shapes and a digest."""
    result = api.run_graph(
        graph, device=device, seed=seed, lower=lower, memory=memory, seconds=seconds
    )
    if json:
        typer.echo(jsonlib.dumps(result.as_json(), indent=1))
        return
    columns = ("dtype", "shape", "mean", "std")
    table = new_table("output", *columns, title=result.name)
    for position, output in enumerate(result.outputs):
        table.add_row(str(position), *(str(output[column]) for column in columns))
    out.print(table)
    out.print(f"digest {result.digest}")
