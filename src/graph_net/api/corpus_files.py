"""Make the files that lie beside the parts of a pack: counts, the mini selection, cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from graph_net import __version__
from graph_net.corpus import card, croissant, mini, stats
from graph_net.corpus.pack import Pack
from graph_net.corpus.page import make_tables, with_tables
from graph_net.corpus.prune import prune
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus
from graph_net.corpus.subgraph_stats import count_subgraphs, subgraph_table, with_subgraphs
from graph_net.corpus.verdict_stats import read_verdicts, verdict_table, with_verdicts
from graph_net.display.display import Display, display_of
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text


def write_stats(
    pack: Path | None,
    page: Path | None = None,
    subgraphs: Path | None = None,
    verdicts: Path | None = None,
    outputs: Path | None = None,
) -> Iterator[str]:
    """Count a pack and write stats.json; yield each table when it is made.

    ``subgraphs``, ``verdicts`` and ``outputs`` add a table each. The marked region of ``page`` for
    each table is rewritten.
    """
    source = Pack(pack or shipped_corpus())
    counts = stats.count_pack(source)
    counts.save(source.path / stats.FILE)
    _rewrite(page, lambda text: with_tables(text, counts))
    yield make_tables(counts)
    if subgraphs is not None:
        counted = count_subgraphs(Pack(subgraphs))
        _rewrite(page, lambda text: with_subgraphs(text, counted))
        yield subgraph_table(counted)
    if verdicts is not None:
        table = verdict_table(read_verdicts(source, verdicts), len(source))
        _rewrite(page, lambda text: with_verdicts(text, table))
        yield table
    if outputs is not None:
        from graph_net.corpus.outputs import count_outputs, with_outputs

        kinds = count_outputs(source, outputs)
        _rewrite(page, lambda text: with_outputs(text, kinds))
        yield kinds


def _rewrite(page: Path | None, change: Callable[[str], str]) -> None:
    if page is not None:
        write_text(page, change(read_text(page)))


def write_mini(
    pack: Path | None, count: int = mini.COUNT, progress: Display | bool = True
) -> mini.Mini:
    """Select few quick graphs that cover a pack, write mini.json and return the selection."""
    from graph_net.corpus.mini_time import describe_machine, eager_seconds
    from graph_net.isolate import Died

    source, display = Pack(pack or shipped_corpus()), display_of(progress)

    def seconds(name: str) -> float | None:
        try:
            duration = eager_seconds(source, name, mini.MOST_FLOPS)
        except Died as error:
            display.tell(f"{name}: {error}")
            return None
        display.tell(f"{name}: {1000 * duration:.0f} ms")
        return duration

    # Training steps are counted apart; the selection is of whole models.
    rows = select(source, "NOT list_contains(tags, 'training')")
    selection = mini.select_mini(rows, seconds, count, describe_machine())
    selection.save(source.path / mini.FILE)
    return selection


def prune_pack(pack: Path | None, verdicts: Path) -> tuple[list[str], int]:
    """Remove graphs that validation refused; return their names and how many were there."""
    source = Pack(pack or shipped_corpus())
    refused = [verdict.name for verdict in read_verdicts(source, verdicts) if not verdict.ok]
    return refused, prune(source, refused)


def write_cards(pack: Path | None, published: str = "") -> tuple[Path, Path]:
    """Write README.md and croissant.json from stats.json; return their paths.

    ``published`` is a date, today if empty.
    """
    folder = Pack(pack or shipped_corpus()).path
    counts = stats.load_stats(folder / stats.FILE)
    if counts.parts != stats.hash_parts(Pack(folder)):
        raise ValueError(
            f"{folder / stats.FILE} counts other parts; run `graph-net corpus stats` first"
        )
    paths = folder / card.FILE, folder / croissant.FILE
    write_text(paths[0], card.make_card(counts, card.packs_beside(folder)))
    date = published or datetime.now(UTC).date().isoformat()
    sizes = croissant.read_part_sizes(folder, counts)
    write_text(paths[1], croissant.make_croissant(counts, __version__, date, sizes))
    return paths
