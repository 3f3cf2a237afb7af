"""Write one HTML file of records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.corpus.pack import Pack
    from graph_net.report.page import PageCounts


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
) -> PageCounts:
    """Write the page of a directory of records, and return how much it shows.

    Graphs are drawn from the pack ``corpus``, by default the one that comes with GraphNet.
    """
    from graph_net.report.page import write_page
    from graph_net.score import Parameters, find_interpretation

    parameters = Parameters(p, b, find_interpretation(interpretation))
    pack = pack_at_hand(corpus)
    return write_page(Path(records), Path(output), pack, parameters, title, tasks)


def pack_at_hand(path: str | Path | None) -> Pack | None:
    """Return the named pack, or the one of GraphNet if it is at hand."""
    from graph_net.corpus.pack import Pack, PackError
    from graph_net.corpus.shipped import corpus_at_hand

    if path is not None:
        return Pack(path)
    try:
        return Pack(corpus_at_hand())
    except PackError:
        return None
