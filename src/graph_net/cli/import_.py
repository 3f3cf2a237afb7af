"""``graph-net import``: sample directories into a pack."""

from __future__ import annotations

import json as jsonlib
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from graph_net.cli.common import err, out
from graph_net.corpus.convert import Outcome, read_directories
from graph_net.corpus.pack import PackError, PackWriter
from graph_net.display.progress import progress
from graph_net.formats.graphnet import find_samples

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
    samples = _named_samples(directories)
    outcome = Outcome()
    with PackWriter(output) as writer:
        wanted = {name: path for name, path in samples.items() if name not in writer.names}
        outcome.skipped = len(samples) - len(wanted)
        with progress("reading", len(wanted)) as advance:
            for result in read_directories(wanted, jobs or os.cpu_count() or 1):
                if result.row is not None:
                    writer.add_row(result.row)
                    outcome.read += 1
                    outcome.sample_bytes += result.sample_bytes
                else:
                    outcome.refuse(result.name, result.reason)
                advance()
    outcome.pack_bytes = sum(part.stat().st_size for part in output.glob("part-*"))
    if json:
        typer.echo(jsonlib.dumps(outcome.as_json(), indent=1))
    else:
        _report(outcome, output)
    if outcome.refused:
        raise typer.Exit(SOME_REFUSED if outcome.read or outcome.skipped else 1)


def _named_samples(directories: list[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in directories:
        if not directory.is_dir():
            raise PackError(f"{directory} is no directory")
        for sample in find_samples(directory):
            inside = str(sample.relative_to(directory))
            name = directory.resolve().name if inside == "." else inside
            if name in found:
                name = f"{directory.name}/{name}"
            if name in found:
                raise PackError(f"two samples are called {name!r}: {found[name]} and {sample}")
            found[name] = sample
    if not found:
        places = ", ".join(str(directory) for directory in directories)
        raise PackError(f"no sample (a directory with a model.py) in {places}")
    return found


def _report(outcome: Outcome, output: Path) -> None:
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
