"""Write one HTML file of what records say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.corpus.pack import Pack
    from graph_net.report.page import PageOptions


def report(
    records: str | Path,
    output: str | Path = "report.html",
    *,
    corpus: str | Path | None = None,
    p: float = 0.0,
    b: float = 0.1,
    interpretation: str = "default",
    title: str = "",
    tasks: int = 50,
) -> PageOptions:
    """Write the page of a directory of records, and return how much it shows.

    Graphs are drawn from the pack ``corpus``, or from the one that comes with GraphNet.
    """
    from graph_net.report.page import write_page
    from graph_net.score import Parameters
    from graph_net.score import interpretation as interpretation_of

    parameters = Parameters(p, b, interpretation_of(interpretation))
    place, pack = Path(output), pack_at_hand(corpus)
    return write_page(Path(records), place, pack, parameters, title, tasks)


def pack_at_hand(named: str | Path | None) -> Pack | None:
    """Return the pack that was named, or the one of GraphNet where it is at hand."""
    from graph_net.corpus.pack import Pack, PackError
    from graph_net.corpus.shipped import corpus_at_hand

    if named is not None:
        return Pack(named)
    try:
        return Pack(corpus_at_hand())
    except PackError:
        return None
