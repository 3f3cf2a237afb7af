"""``graph-net export``: a pack into sample directories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.import_ import SOME_REFUSED
from graph_net.printable import count_phrase


def export_pack(
    pack: Annotated[Path, typer.Argument(help="A pack.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for the samples.")],
    where: Annotated[
        str | None, typer.Option(help="Only graphs that meet this SQL condition.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Device to name in the source if the graph leaves it open.")
    ] = "cpu",
) -> None:
    """Write the graphs of a pack as GraphNet sample directories.

    Existing directories of the same name are replaced; each appears complete or not at all.
    Exit code: 0 all written, 3 some could not be (the others are there), 1 none.
    """
    from graph_net.api.samples import export_samples

    written, refused = export_samples(pack, output, where, device)
    err.print(f"{count_phrase(written, 'sample')} written to {output}")
    if refused:
        raise typer.Exit(SOME_REFUSED if written else 1)
