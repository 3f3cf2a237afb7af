"""``graph-net programs publish``, ``restore``, ``stats`` and ``card``: a data set, its journal."""

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


def publish_programs(
    source: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="A directory of records that has programs.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The platform's directory in the data set.")
    ],
) -> None:
    """Write programs as plain columns, to be read with any Parquet reader.

    One row per measured program, with the fields of its configuration, every timed run and all
    that is known of it. Tasks, workloads and subgraphs go along. What was published at the same
    place before is replaced; every other verb reads the result as it reads what was ingested.
    """
    from graph_net.programs.dataset.export import publish

    count = publish(source, output)
    size = sum(file.stat().st_size for file in output.rglob("*.parquet"))
    err.print(f"{output}: {count:,} rows, {size / 1e6:.1f} MB")


def restore_programs(
    published: Annotated[
        Path, typer.Argument(metavar="PLATFORM", help="A platform's directory in a data set.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The journal to write: WORK/programs.jsonl.")
    ],
) -> None:
    """Write the journal that a published data set was made from.

    A collection that is given it (programs.jsonl in the --work of `programs collect`, layouts.jsonl
    in that of `configs collect`) goes on where it was, on the same kind of machine.
    """
    from graph_net.programs.dataset.restore import restore_journal

    err.print(f"{output}: {restore_journal(published, output):,} programs")


def describe_programs(
    folder: Annotated[Path, typer.Argument(help=FOLDER)],
    published: Annotated[str, typer.Option(help="The date of publication.")] = "",
) -> None:
    """Write a data set's card, its splits and its metadata beside its platforms.

    These are README.md, splits.json (by network, task, operator and platform) and croissant.json.
    """
    from graph_net.api.program_dataset import describe_dataset

    described = describe_dataset(folder, published)
    for warning in described.warnings:
        err.print(f"warning: {warning}")
    err.print(
        f"{folder}: {', '.join(described.names)} written; "
        f"{described.table_bytes / 1e6:.1f} MB of tables"
    )
