"""``graph-net export``: a pack into sample directories."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated

import typer

from graph_net.api.graphs import safe_path
from graph_net.cli.common import err
from graph_net.cli.import_ import SOME_REFUSED
from graph_net.corpus.pack import Pack, PackError
from graph_net.corpus.query import select
from graph_net.display.progress import progress
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import GraphError
from graph_net.printable import counted

_NO_SUCH_PLACE = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}
"""What a name is answered with that no directory can have, or not beside the others."""


def export_pack(
    pack: Annotated[Path, typer.Argument(help="A pack.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for the samples.")],
    where: Annotated[
        str | None, typer.Option(help="Only graphs that this SQL condition chooses.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Device to name in the source where the graph leaves it open.")
    ] = "cpu",
) -> None:
    """Write the graphs of a pack as GraphNet sample directories.

    Existing directories of the same name are replaced; each appears complete or not at all.
    Exit code: 0 all written, 3 some could not be (the others are there), 1 none.
    """
    opened = Pack(pack)
    names = [row["name"] for row in select(opened, where)]
    places: dict[Path, str] = {}
    for name in names:
        other = places.setdefault(safe_path(name), name)
        if other != name:
            raise PackError(f"{other!r} and {name!r} would be written to the same directory")
    refused = 0
    with progress("writing", len(names)) as advance:
        for name, graph in opened.graphs(names):
            try:
                write_sample(graph, output / safe_path(name), device)
            except (GraphError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in _NO_SUCH_PLACE:
                    raise
                err.print(f"{name} is passed over: {error}", markup=False, highlight=False)
                refused += 1
            advance()
    err.print(f"{counted(len(names) - refused, 'sample')} written to {output}")
    if refused:
        raise typer.Exit(SOME_REFUSED if refused < len(names) else 1)
