"""``graph-net import``: sample directories into a pack."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.cli.common import err, out

if TYPE_CHECKING:
    from graph_net.corpus.import_samples import ImportCounts

SOME_REFUSED = 3


def import_samples(
    directories: Annotated[
        list[Path], typer.Argument(help="Sample directories, or directories that hold some.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack to write or add to.")],
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; 0 for one a core.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Read GraphNet samples into a pack, by parsing alone (`ingest` adds measurements).

    Their source is never executed. One with calls under vmap is traced, on tensors without values
    in a confined process.
    Samples that the pack has already are passed over, so a stopped import goes on where it was.
    Exit code: 0 all read, 3 some refused (the others are in the pack), 1 none read.
    """
    from graph_net.api import samples

    outcome = samples.import_samples(directories, output, jobs)
    if json:
        typer.echo(jsonlib.dumps(outcome.as_json(), indent=1))
    else:
        _report(outcome, output)
    if outcome.refused:
        raise typer.Exit(SOME_REFUSED if outcome.read or outcome.skipped else 1)


def _report(outcome: ImportCounts, output: Path) -> None:
    words = [f"{outcome.read} read into {output}"]
    if outcome.skipped:
        words.append(f"{outcome.skipped} already there")
    words.append(f"{len(outcome.refused)} refused")
    err.print(", ".join(words))
    if outcome.refused:
        table = Table(title="refused", title_justify="left")
        table.add_column("why", overflow="fold")
        table.add_column("samples", justify="right")
        table.add_column("for example", overflow="fold")
        for reason, names in outcome.reasons():
            table.add_row(reason, str(len(names)), names[0])
        out.print(table)
