"""``graph-net programs features``: features of programs and graphs, stored for learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.api.features import KINDS
from graph_net.cli import options as opt
from graph_net.cli.common import err
from graph_net.printable import count_phrase, short_bytes

SHOWN = 5


def make_features(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="A directory of records that has programs.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the features go.")],
    kind: Annotated[
        str, typer.Option(help=f"Kinds of features, comma-separated: {', '.join(KINDS)}.")
    ] = "primitives",
    graphs: Annotated[
        Path | None,
        typer.Option(metavar="PACK", help="The graphs for the kind graph: a pack of subgraphs."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; with --ray 1 is all cores.")] = 1,
    seconds: Annotated[int, typer.Option(min=1, help="Time limit for one program or graph.")] = 20,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try again what could not be computed before.")
    ] = False,
    ray: opt.Ray = None,
) -> None:
    """Compute features that are not stored yet, as Parquet; a stopped run resumes.

    Primitives come from the schedules alone; per_store replays them with TVM and needs their
    workloads; machine_code compiles them, without running, for the CPU of their target; graph
    takes the graphs of a pack.
    """
    from graph_net.api import features as api
    from graph_net.programs.formats import ReadError

    kinds = [name.strip() for name in kind.split(",") if name.strip()]
    try:
        computed = api.make_features(
            records,
            output,
            kinds,
            graphs=graphs,
            jobs=jobs,
            seconds=seconds,
            retry=retry,
            cluster=ray,
        )
    except ReadError as error:
        raise typer.BadParameter(str(error)) from error
    for counts in computed:
        err.print(
            f"{counts.kind} {counts.version}: {counts.computed:,} with features, "
            f"{counts.failed.total():,} without, {count_phrase(counts.files, 'file')}, "
            f"{short_bytes(counts.bytes)}"
        )
        for reason, number in counts.failed.most_common(SHOWN):
            err.print(f"  {number:,} × {reason}")
