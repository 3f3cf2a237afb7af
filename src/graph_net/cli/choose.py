"""Which graphs a verb works on: a pack or samples, all or some of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.record import Subject


def chosen_graphs(
    place: str | None, where: str | None, mini: bool, limit: int | None
) -> tuple[list[str], Iterator[tuple[Subject, bytes]]]:
    """Names in a fair order, and the graphs in that order."""
    from graph_net.corpus.pack import Pack, is_pack
    from graph_net.corpus.query import select
    from graph_net.corpus.shipped import mini as mini_names
    from graph_net.corpus.shipped import shipped_corpus
    from graph_net.corpus.subjects import of_samples, stratified, subjects

    path = Path(place) if place is not None else shipped_corpus()
    if not is_pack(path):
        return of_samples(path, limit)
    pack = Pack(path)
    rows = select(pack, where)
    if mini:
        chosen = set(mini_names())
        rows = [row for row in rows if row["name"] in chosen]
    names = stratified(rows)[:limit]
    return names, subjects(pack, names)
