"""Count and describe a data set of programs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from graph_net import __version__
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text


@dataclass(frozen=True)
class DatasetFiles:
    """The files that describe a data set, the bytes of its tables, and what its splits lack."""

    names: tuple[str, ...]
    table_bytes: int
    warnings: list[str]


def count_dataset(folder: Path, page: Path | None = None) -> str:
    """Return the counts of a data set as Markdown; with ``page`` rewrite its marked region."""
    from graph_net.programs.dataset.stats import count, markdown, with_statistics

    platforms = count(folder)
    if page is not None:
        write_text(page, with_statistics(read_text(page), platforms))
    return markdown(platforms)


def describe_dataset(folder: Path, published: str = "") -> DatasetFiles:
    """Write a data set's card, its splits and its metadata beside its platforms.

    ``published`` is a date, today if empty.
    """
    from graph_net.programs.dataset import card, croissant
    from graph_net.programs.dataset.splits import SPLITS, lacking, make_splits, save_splits
    from graph_net.programs.dataset.stats import count

    platforms = count(folder)
    save_splits(folder, make_splits({platform.name: platform.tasks for platform in platforms}))
    write_text(folder / card.FILE, card.card(platforms))
    date = published or datetime.now(UTC).date().isoformat()
    text = croissant.croissant(folder, card.described(platforms), __version__, date)
    write_text(folder / croissant.FILE, text)
    gaps = {platform.name: lacking(platform.tasks, platform.split) for platform in platforms}
    return DatasetFiles(
        (card.FILE, SPLITS, croissant.FILE),
        sum(platform.bytes for platform in platforms),
        [f"{name} has {reason}" for name, reason in gaps.items() if reason],
    )
