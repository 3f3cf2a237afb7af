"""``graph-net sample``: a part of a pack that is like the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.query import select
from graph_net.corpus.sample import sample
from graph_net.corpus.shipped import shipped_corpus
from graph_net.printable import count_phrase, printable


def sample_pack(
    count: Annotated[int, typer.Option("--count", "-k", help="How many graphs.")],
    pack: Annotated[
        Path | None, typer.Argument(help="A pack; the shipped corpus if none is named.")
    ] = None,
    by: Annotated[
        str, typer.Option(help="Columns whose values all get their share, comma-separated.")
    ] = "category,library",
    seed: Annotated[int, typer.Option(help="Another seed draws others.")] = 0,
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new pack to write them to.")
    ] = None,
) -> None:
    """Draw a reproducible, stratified subset of a pack (`coreset` goes by measured scores).

    Prints names, or with -o writes a pack. The same seed draws the same graphs on every machine,
    whatever order they are stored in.
    """
    source = Pack(pack or shipped_corpus())
    columns = [column for column in by.split(",") if column]
    names = sample(select(source, where), count, columns, seed)
    if len(names) < count:
        err.print(f"only {count_phrase(len(names), 'graph')} to draw from")
    if output is None:
        typer.echo("\n".join(map(printable, names)))
        return
    copy_graphs(source, names, output)


def copy_graphs(source: Pack, names: list[str], output: Path) -> None:
    """Write some graphs of a pack to a new one."""
    if output.exists():
        raise PackError(f"{output} exists; chosen graphs are written to a new pack")
    with PackWriter(output) as writer:
        for name, graph in source.graphs(names):
            writer.add(name, graph)
    err.print(f"{count_phrase(len(names), 'graph')} in {output}")
