"""``graph-net ingest``: records and programs that were made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.cli.import_ import SOME_REFUSED


def ingest_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Records as a bundle leaves them, a tuner's (Ansor, AutoTVM, MetaSchedule, T4), or "
            "TpuGraphs' npz and pb."
        ),
    ],
    records: Annotated[Path, typer.Option("--output", "-o", help="Where the records go.")] = Path(
        "build/records"
    ),
    device: Annotated[
        str, typer.Option(help="The device of the programs; tuners' files do not name it.")
    ] = "",
    kernel: Annotated[
        str, typer.Option(help="The kernel of T4 files; their name by default.")
    ] = "",
    schedules: Annotated[
        bool, typer.Option(help="Keep the text of each schedule, not its hash alone.")
    ] = True,
    jobs: opt.Jobs = 0,
) -> None:
    """Add records, or tuners' programs, from other machines (`import` reads graphs).

    The kind of a file is detected from its first lines. What is there already is not added again;
    damaged lines are counted and skipped.
    Exit code: 0 all read, 3 some files of records hold no record (the others are in), 1 none does.
    """
    from graph_net.api.ingest import ingest

    useless = 0
    for file in ingest(
        files, records, device=device, kernel=kernel, schedules=schedules, jobs=jobs
    ):
        useless += file.useless
        err.print(f"{file.path}: {file.summary}")
        for position, damage in file.examples:
            err.print(f"  line {position.line}, byte {position.offset}: {damage.reason}")
        if file.damaged > len(file.examples) > 0:
            err.print(f"  and {file.damaged - len(file.examples)} more")
    if useless:
        raise typer.Exit(SOME_REFUSED if useless < len(files) else 1)
