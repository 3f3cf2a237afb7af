"""``graph-net sync``: directories of records from several places into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.import_ import SOME_REFUSED


def sync_records(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Directories of records: paths, or addresses that pyarrow reads (s3://…, gs://…)."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The directory of records they go to.")
    ] = Path("build/records"),
) -> None:
    """Bring the records of several machines into one directory (`ingest` reads single files).

    Of several results of a graph, configuration, device and protocol the latest stays, in whatever
    order the places are given; the same command again adds what is new there. Programs come along.
    Exit code: 0 all read, 3 some places could not be read (the others are in), 1 none could.
    """
    from graph_net.api.sync import sync

    failed = 0
    for place in sync(sources, output):
        failed += place.failed
        err.print(f"{place.source}: {place.summary}")
    if failed:
        raise typer.Exit(SOME_REFUSED if failed < len(sources) else 1)
