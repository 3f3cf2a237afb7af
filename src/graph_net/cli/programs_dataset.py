"""``graph-net programs publish``, ``stats`` and ``card``: a data set, written and described."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net import __version__
from graph_net.cli.common import err, out
from graph_net.display.terminal import lines
from graph_net.store.files import read_text

FOLDER = "A directory with a directory of records for each platform."


def count_programs(
    folder: Annotated[Path, typer.Argument(help=FOLDER)],
    page: Annotated[
        Path | None, typer.Option(help="Also write the tables between the marks of this page.")
    ] = None,
) -> None:
    """Print what a data set of programs is made of, as Markdown.

    Networks, tasks, programs, failures, how far the best is from the typical, noise, bytes.
    """
    from graph_net.programs.dataset.stats import count, markdown, with_statistics

    found = count(folder)
    out.print(lines(markdown(found)), soft_wrap=True)
    if page is not None:
        page.write_text(with_statistics(read_text(page), found), "utf-8")


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


def describe_programs(
    folder: Annotated[Path, typer.Argument(help=FOLDER)],
    published: Annotated[str, typer.Option(help="The date of publication.")] = "",
) -> None:
    """Write a data set's card, its splits and its metadata beside its platforms.

    These are README.md, splits.json (whole networks are held out) and croissant.json.
    """
    from datetime import UTC, datetime

    from graph_net.programs.dataset import card, croissant
    from graph_net.programs.dataset.dataset import SPLITS, lacking, save_splits
    from graph_net.programs.dataset.stats import count

    found = count(folder)
    date = published or datetime.now(UTC).date().isoformat()
    save_splits(folder, {of.name: of.split for of in found})
    for of in found:
        if why := lacking(of.tasks, of.split):
            err.print(f"warning: {of.name} has {why}")
    (folder / card.FILE).write_text(card.card(found), "utf-8")
    about = card.described(found)
    text = croissant.croissant(folder, about, __version__, date)
    (folder / croissant.FILE).write_text(text, "utf-8")
    err.print(
        f"{folder}: {card.FILE}, {SPLITS} and {croissant.FILE} written; "
        f"{sum(of.bytes for of in found) / 1e6:.1f} MB of tables"
    )
