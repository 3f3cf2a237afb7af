"""``graph-net programs stats`` and ``card``: a data set of programs, counted and described."""

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


def describe_programs(
    folder: Annotated[Path, typer.Argument(help=FOLDER)],
    published: Annotated[str, typer.Option(help="The date of publication.")] = "",
) -> None:
    """Write a data set's card, its splits and its metadata beside its platforms.

    These are README.md, splits.json (networks are held out as TenSet does) and croissant.json.
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
