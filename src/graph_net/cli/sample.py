"""``graph-net sample``: a stratified sample of a pack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.printable import count_phrase, printable


def sample_pack(
    count: Annotated[int, typer.Option("--count", "-k", help="How many graphs.")],
    pack: opt.Pack = None,
    by: Annotated[
        str, typer.Option(help="Columns to stratify by, comma-separated.")
    ] = "category,library",
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    where: opt.Where = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new pack to write them to.")
    ] = None,
) -> None:
    """Draw a reproducible, stratified subset of a pack (`coreset` goes by measured scores).

    Prints names, or with -o writes a pack. The same seed draws the same graphs on every machine,
    whatever order they are stored in.
    """
    from graph_net.api import select as api

    columns = [column for column in by.split(",") if column]
    names = api.sample_pack(pack, count, columns, seed=seed, where=where, output=output)
    if len(names) < count:
        err.print(f"only {count_phrase(len(names), 'graph')} to draw from")
    print_choice(names, output)


def print_choice(names: list[str], output: Path | None) -> None:
    """Print the names of chosen graphs, or which pack holds them."""
    if output is None:
        typer.echo("\n".join(map(printable, names)))
    else:
        err.print(f"{count_phrase(len(names), 'graph')} in {output}")
