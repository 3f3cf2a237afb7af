"""Find the subgraph that a task computes in the graphs at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from graph_net.corpus.pack import Pack, PackError
from graph_net.corpus.shipped import shipped_corpus
from graph_net.programs.view.overview import TaskSummary

SUBGRAPHS = "subgraphs"
"""Directory of the shipped corpus with the subgraphs of its graphs."""
NAMED = 3


@dataclass(frozen=True)
class Occurrence:
    """A graph with a given structure; ``same`` says whether its sizes are equal too."""

    name: str
    occurrences: int
    same: bool


def packs_at_hand() -> list[Pack]:
    """Return those of the shipped corpus's two packs that exist: its subgraphs and its graphs."""
    try:
        corpus = shipped_corpus()
    except PackError:
        return []
    packs = []
    for path in (corpus / SUBGRAPHS, corpus):
        try:
            packs.append(Pack(path))
        except PackError:
            continue
    return packs


def occurrences(
    summaries: Iterable[TaskSummary], packs: Sequence[Pack]
) -> dict[str, list[Occurrence]]:
    """Return the graphs with each task's structure: equal sizes first, then by frequency."""
    wanted = [summary for summary in summaries if summary.structure]
    rows: dict[str, dict[str, tuple[str, int]]] = {one.structure: {} for one in wanted}
    chosen = pc.field("structure").isin(pa.array(sorted(rows), pa.string()))
    for pack in packs if rows else ():
        columns = [n for n in ("name", "id", "structure", "occurrences") if n in pack.columns]
        for row in pack.dataset.to_table(columns=columns, filter=chosen).to_pylist():
            # A subgraph may be listed under several kinds: take the most frequent.
            graphs, graph = rows[row["structure"]], (row["name"], row.get("occurrences") or 1)
            graphs[row["id"]] = max(graph, graphs.get(row["id"], graph), key=lambda one: one[1])
    return {one.task: _ordered(rows[one.structure], one.graph) for one in wanted}


def _ordered(graphs: dict[str, tuple[str, int]], mine: str) -> list[Occurrence]:
    ordered = [Occurrence(name, times, graph == mine) for graph, (name, times) in graphs.items()]
    return sorted(ordered, key=lambda one: (not one.same, -one.occurrences, one.name))


def format_subgraphs(listed: list[Occurrence]) -> str:
    """Return occurrences in one line; empty if there are none."""
    if not listed:
        return ""
    named = ", ".join(
        f"{one.name} ({'same sizes' if one.same else 'other sizes'}, {one.occurrences:,}×)"
        for one in listed[:NAMED]
    )
    rest = len(listed) - NAMED
    return named + (f" and {rest:,} more of other sizes" if rest > 0 else "")
