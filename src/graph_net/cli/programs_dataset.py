"""``graph-net programs stats`` and ``card``: a data set of programs, counted and described."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err, out
from graph_net.display.terminal import lines

FOLDER = "A directory that holds a directory of records per platform."


def count_programs(
    folder: Annotated[Path, typer.Argument(help=FOLDER)],
    page: Annotated[
        Path | None, typer.Option(help="Also write the tables between the marks of this page.")
    ] = None,
) -> None:
    """Print the composition of a data set of programs as Markdown.

    Networks, tasks, programs, failures, the typical program over the best, noise, bytes.
    """
    from graph_net.api.program_dataset import count_dataset

    out.print(lines(count_dataset(folder, page)), soft_wrap=True)


def describe_programs(
    folder: Annotated[Path, typer.Argument(help=FOLDER)],
    published: Annotated[str, typer.Option(help="The date of publication.")] = "",
) -> None:
    """Write a data set's card, its splits and its metadata beside its platforms.

    These are README.md, splits.json (networks are held out as TenSet does) and croissant.json.
    """
    from graph_net.api.program_dataset import describe_dataset

    described = describe_dataset(folder, published)
    for warning in described.warnings:
        err.print(f"warning: {warning}")
    err.print(
        f"{folder}: {', '.join(described.names)} written; "
        f"{described.table_bytes / 1e6:.1f} MB of tables"
    )
