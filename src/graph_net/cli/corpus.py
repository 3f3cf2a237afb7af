"""``graph-net corpus``: the files that lie beside the parts of a pack."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, out
from graph_net.corpus.mini import COUNT
from graph_net.display.terminal import lines


class Action(Enum):
    """What to do with the pack."""

    STATS = "stats"
    MINI = "mini"
    CARD = "card"
    PRUNE = "prune"


def corpus_files(
    action: Annotated[
        Action,
        typer.Argument(
            help="stats: count and print; mini: select few quick graphs; card: describe; "
            "prune: remove graphs that validation refused."
        ),
    ],
    pack: opt.Pack = None,
    page: Annotated[
        Path | None, typer.Option(help="stats: a page whose marked regions are rewritten.")
    ] = None,
    subgraphs: Annotated[
        Path | None, typer.Option(help="stats: a pack of subgraphs to count as well.")
    ] = None,
    verdicts: Annotated[
        Path | None, typer.Option(help="stats, prune: the file of `graph-net validate --keep`.")
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option(help="stats: the file of `python -m tools.initial_values count`."),
    ] = None,
    count: Annotated[int, typer.Option(help="mini: how many graphs.")] = COUNT,
    published: Annotated[str, typer.Option(help="card: the date of publication.")] = "",
) -> None:
    """Count a pack, select its small part, or write its cards; the files lie beside its parts.

    stats writes stats.json, which `card` (README.md, croissant.json) and the pictures are made
    from. mini measures each graph it would choose and writes mini.json. prune rewrites the parts
    that hold a graph which does not meet the requirements.
    """
    from graph_net.api import corpus_files as api

    if action is Action.STATS:
        for table in api.write_stats(pack, page, subgraphs, verdicts, outputs):
            out.print(lines(table), soft_wrap=True)
    elif action is Action.MINI:
        selection = api.write_mini(pack, count)
        err.print(
            f"{len(selection.graphs)} graphs with {selection.operators} of "
            f"{selection.of_operators} operators, "
            f"{sum(graph.seconds for graph in selection.graphs):.1f} s in all"
        )
    elif action is Action.CARD:
        card, croissant = api.write_cards(pack, published)
        err.print(f"{card} and {croissant} written")
    elif verdicts is None:
        raise ValueError("prune needs --verdicts FILE, written by `graph-net validate --keep FILE`")
    else:
        refused, removed = api.prune_pack(pack, verdicts)
        for name in refused:
            err.print(name)
        err.print(f"{removed} graphs removed")
