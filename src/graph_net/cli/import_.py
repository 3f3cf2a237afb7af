"""``graph-net import``: sample directories into a pack."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out

if TYPE_CHECKING:
    from graph_net.corpus.import_samples import ImportCounts

SOME_REFUSED = 3


def import_samples(
    directories: Annotated[
        list[Path], typer.Argument(help="Sample directories, or TpuGraphs' files, or directories that hold some.")
    ],
    output: opt.OutputPack,
    jobs: opt.Jobs = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Read GraphNet samples into a pack, by parsing alone (`ingest` adds measurements).

    Their source is never executed. Of TpuGraphs' files (.npz, .pb) the graphs are taken, at level hlo. A sample with calls under vmap is traced, on tensors without
    values in a confined process.
    Samples that the pack has already are not read again, so a stopped import resumes.
    Exit code: 0 all read, 3 some refused (the others are in the pack), 1 none read.
    """
    from graph_net.api import samples

    outcome = samples.import_samples(directories, output, jobs)
    if json:
        typer.echo(jsonlib.dumps(outcome.as_json(), indent=1))
    else:
        _print_outcome(outcome, output)
    if outcome.refused:
        raise typer.Exit(SOME_REFUSED if outcome.read or outcome.skipped else 1)


def _print_outcome(outcome: ImportCounts, output: Path) -> None:
    counts = [f"{outcome.read} read into {output}"]
    if outcome.skipped:
        counts.append(f"{outcome.skipped} already there")
    counts.append(f"{len(outcome.refused)} refused")
    err.print(", ".join(counts))
    if outcome.refused:
        columns = ("why", "samples", "for example")
        table = new_table(*columns, title="refused", numbers=["samples"])
        for reason, names in outcome.reasons():
            table.add_row(reason, str(len(names)), names[0])
        out.print(table)
