"""The graphs of a pack, chosen by conditions and read one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.printable import count_phrase, html_table, short_bytes, short_count

if TYPE_CHECKING:
    import pandas as pd

    from graph_net.corpus.pack import Pack
    from graph_net.graph import Graph

SHOWN = 10
"""Graphs that a notebook lists."""


@dataclass(frozen=True)
class Corpus(Mapping[str, "Graph"]):
    """Graphs by name; a graph is read when it is accessed.

    ``path`` is a pack, None the one that comes with GraphNet, of which a wheel has the mini
    selection alone; each of ``conditions`` is SQL over its columns.
    """

    path: Path | None = None
    conditions: tuple[str, ...] = ()
    only_mini: bool = False
    most: int | None = None
    keeps: object = field(default=None, compare=False)
    """A temporary pack that lives as long as this."""

    def where(self, condition: str) -> Corpus:
        """Return the graphs that meet a condition in SQL: ``"nodes < 500"``."""
        return replace(self, conditions=(*self.conditions, condition))

    def mini(self) -> Corpus:
        """Return the mini selection: few graphs, quick to measure, of every kind."""
        return replace(self, only_mini=True)

    def limit(self, most: int) -> Corpus:
        """Return the first ``most``, in an order whose every prefix is a fair sample."""
        return replace(self, most=most)

    @cached_property
    def pack(self) -> Pack:
        """The pack that holds them."""
        from graph_net.corpus.pack import Pack
        from graph_net.corpus.shipped import corpus_at_hand, shipped_corpus

        if self.path is not None:
            return Pack(self.path)
        return Pack(corpus_at_hand() if self.only_mini else shipped_corpus())

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """All columns of the chosen graphs, in an order whose every prefix is a fair sample."""
        from graph_net.corpus.query import select
        from graph_net.corpus.shipped import mini_names
        from graph_net.corpus.subjects import stratify

        where = "\n) AND (".join(self.conditions)  # select puts the whole in brackets
        rows = {row["name"]: row for row in select(self.pack, where or None)}
        if self.only_mini:
            rows = {name: rows[name] for name in mini_names() if name in rows}
        return [rows[name] for name in stratify(list(rows.values()))[: self.most]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (row["name"] for row in self.rows)

    def __getitem__(self, name: str) -> Graph:
        if name not in set(self):
            raise KeyError(name)
        return self.pack.graph(name)

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns of the chosen graphs as a data frame."""
        from graph_net.api.frames import data_frame

        return data_frame(self.rows)

    def __repr__(self) -> str:
        return f"<Corpus {self.pack.path.name}: {count_phrase(len(self), 'graph')}>"

    def _repr_html_(self) -> str:
        cells = [
            (row["name"], row["category"] or "", f"{row['nodes']:,}",
             short_count(row["parameters"]), short_bytes(row["tensor_bytes"]))
            for row in self.rows[:SHOWN]
        ]  # fmt: skip
        columns = ("graph", "category", "nodes", "parameters", "tensors")
        return html_table(
            count_phrase(len(self), "graph"), columns, cells, more=len(self) - len(cells)
        )


def corpus(path: str | Path | None = None) -> Corpus:
    """Return the graphs of a pack, by default those that come with GraphNet."""
    return Corpus(None if path is None else Path(path))


def list_rows(
    pack: Path | None = None,
    where: str | None = None,
    order: str = "name",
    limit: int | None = None,
    mini: bool = False,
    columns: Collection[str] | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of a pack in an order of SQL; no graph is read.

    Without a pack they are of the corpus of GraphNet; the flag says whether it is only the mini
    selection that an installed package holds.
    """
    from graph_net.corpus.pack import Pack
    from graph_net.corpus.query import select
    from graph_net.corpus.shipped import MINI, corpus_at_hand, mini_names

    path = pack or corpus_at_hand()
    rows = select(Pack(path), where, order, None if mini else limit, columns)
    if mini:
        names = set(mini_names())
        rows = [row for row in rows if row["name"] in names][:limit]
    return rows, path == MINI
