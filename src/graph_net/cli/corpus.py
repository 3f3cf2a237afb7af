"""``graph-net corpus``: the files that go with the shipped corpus, made anew."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from graph_net import __version__
from graph_net.cli.common import err, out
from graph_net.corpus import card as cards
from graph_net.corpus import croissant, mini, stats
from graph_net.corpus.pack import Pack
from graph_net.corpus.page import make_tables, with_tables
from graph_net.corpus.prune import prune
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus
from graph_net.corpus.subgraph_stats import count_subgraphs, subgraph_table, with_subgraphs
from graph_net.corpus.verdict_stats import read_verdicts, verdict_table, with_verdicts
from graph_net.display.terminal import lines
from graph_net.store.files import read_text


class Action(Enum):
    """What to make."""

    STATS = "stats"
    MINI = "mini"
    CARD = "card"
    PRUNE = "prune"


def corpus_files(
    action: Annotated[
        Action,
        typer.Argument(
            help="stats: count and print; mini: select few quick graphs; card: describe; "
            "prune: take out what validation refused."
        ),
    ],
    pack: Annotated[
        Path | None, typer.Argument(help="A pack; the shipped corpus if none is named.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="stats: a page whose marked region to write.")
    ] = None,
    subgraphs: Annotated[
        Path | None, typer.Option(help="stats: a pack of subgraphs to count as well.")
    ] = None,
    verdicts: Annotated[
        Path | None, typer.Option(help="stats, prune: what `graph-net validate --keep` left.")
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option(help="stats: what `python -m tools.initial_values count` kept of outputs."),
    ] = None,
    count: Annotated[int, typer.Option(help="mini: how many graphs.")] = mini.COUNT,
    published: Annotated[str, typer.Option(help="card: the date of publication.")] = "",
) -> None:
    """Count a pack, select its small part, or write its cards; the files lie beside its parts.

    stats writes stats.json, which `card` (README.md, croissant.json) and the pictures are made
    from. mini measures each graph it would choose and writes mini.json. prune rewrites the parts
    that hold a graph which does not meet the requirements.
    """
    source = Pack(pack or shipped_corpus())
    if action is Action.STATS:
        found = stats.count_pack(source)
        found.save(source.path / stats.FILE)
        out.print(lines(make_tables(found)), soft_wrap=True)
        if page is not None:
            page.write_text(with_tables(read_text(page), found), "utf-8")
        if subgraphs is not None:
            _subgraphs(Pack(subgraphs), page)
        if verdicts is not None:
            _verdicts(source, verdicts, page)
        if outputs is not None:
            _outputs(source, outputs, page)
    elif action is Action.MINI:
        _mini(source, count)
    elif action is Action.PRUNE:
        _prune(source, verdicts)
    else:
        _cards(source, published)


def _subgraphs(pack: Pack, page: Path | None) -> None:
    """Count subgraphs, and write the page's region on them."""
    found = count_subgraphs(pack)
    out.print(lines(subgraph_table(found)), soft_wrap=True)
    if page is not None:
        page.write_text(with_subgraphs(read_text(page), found), "utf-8")


def _verdicts(source: Pack, kept: Path, page: Path | None) -> None:
    """Count verdicts, and write the page's region on them."""
    table = verdict_table(read_verdicts(source, kept), len(source))
    out.print(lines(table), soft_wrap=True)
    if page is not None:
        page.write_text(with_verdicts(read_text(page), table), "utf-8")


def _outputs(source: Pack, kept: Path, page: Path | None) -> None:
    """Count what outputs are like, and write the page's region on them."""
    from graph_net.corpus.outputs import count_outputs, with_outputs

    text = count_outputs(source, kept)
    out.print(text, soft_wrap=True)
    if page is not None:
        page.write_text(with_outputs(read_text(page), text), "utf-8")


def _prune(source: Pack, kept: Path | None) -> None:
    if kept is None:
        raise ValueError("prune needs --verdicts, what `graph-net validate --keep` left")
    refused = [verdict.name for verdict in read_verdicts(source, kept) if not verdict.ok]
    removed = prune(source, refused)
    for name in refused:
        err.print(name)
    err.print(f"{removed} graphs taken out of {source.path}")


def _mini(source: Pack, count: int) -> None:
    from graph_net.corpus.mini_time import describe_machine, eager_seconds
    from graph_net.isolate import Died

    def seconds(name: str) -> float | None:
        try:
            taken = eager_seconds(source, name, mini.MOST_FLOPS)
        except Died as error:
            err.print(f"{name}: {error}")
            return None
        err.print(f"{name}: {1000 * taken:.0f} ms")
        return taken

    # Training steps are counted apart; the selection is of whole models.
    rows = select(source, "NOT list_contains(tags, 'training')")
    chosen = mini.select_mini(rows, seconds, count, describe_machine())
    chosen.save(source.path / mini.FILE)
    total = sum(graph.seconds for graph in chosen.graphs)
    err.print(
        f"{len(chosen.graphs)} graphs with {chosen.operators} of {chosen.of_operators} operators, "
        f"{total:.1f} s in all"
    )


def _cards(source: Pack, published: str) -> None:
    from datetime import UTC, datetime

    found = stats.load_stats(source.path / stats.FILE)
    if found.parts != stats.hash_parts(source):
        raise ValueError("the counts are of other parts; run `graph-net corpus stats` first")
    (source.path / cards.FILE).write_text(
        cards.make_card(found, cards.packs_beside(source.path)), "utf-8"
    )
    date = published or datetime.now(UTC).date().isoformat()
    sizes = croissant.read_part_sizes(source.path, found)
    text = croissant.make_croissant(found, __version__, date, sizes)
    (source.path / croissant.FILE).write_text(text, "utf-8")
    err.print(f"{source.path / cards.FILE} and {source.path / croissant.FILE} written")
