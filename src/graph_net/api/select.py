"""Choose some graphs of a pack: a stratified sample, or a coreset that predicts scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.query import select
from graph_net.corpus.sample import sample
from graph_net.corpus.shipped import shipped_corpus
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.coreset import ExpectedError, Transitions
    from graph_net.graph import Graph


@dataclass(frozen=True)
class Coreset:
    """Chosen graphs, how many there were to choose from, and the expected error of each method."""

    names: list[str]
    total: int
    errors: list[ExpectedError]


def sample_pack(
    pack: Path | None,
    count: int,
    by: Sequence[str] = ("category", "library"),
    *,
    seed: int = 0,
    where: str | None = None,
    output: Path | None = None,
) -> list[str]:
    """Return the names of a stratified sample of a pack; with ``output`` write them as a pack.

    The same seed draws the same graphs on every machine.
    """
    source = Pack(pack or shipped_corpus())
    names = sample(select(source, where), count, by, seed)
    if output is not None:
        _copy_graphs(source, names, output)
    return names


def choose_coreset(
    pack: Path | None,
    records: Sequence[Path],
    count: int = 64,
    *,
    method: str = "coreset",
    where: str | None = None,
    transitions: bool = False,
    seed: int = 0,
    output: Path | None = None,
    progress: Display | bool = True,
) -> Coreset:
    """Choose graphs whose score predicts that of all; with ``output`` write them as a pack.

    ``errors`` is empty without records. ``transitions`` reads every graph, so that the method
    markov is compared too.
    """
    from graph_net.coreset import METHODS, select_graphs

    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; available: {', '.join(METHODS)}")
    source = Pack(pack or shipped_corpus())
    rows = select(source, where)
    if not rows:
        raise PackError(f"{source.path} has no graph to choose from")
    names = [row["name"] for row in rows]
    needs_transitions = transitions or method == "markov"
    counted = _count_transitions(source, names, progress) if needs_transitions else None
    chosen, errors = select_graphs(rows, records, counted, method, count, seed)
    if output is not None:
        _copy_graphs(source, chosen, output)
    return Coreset(chosen, len(rows), errors)


def _count_transitions(source: Pack, names: list[str], progress: Display | bool) -> Transitions:
    from graph_net.coreset import count_transitions

    with display_of(progress).progress("operator transitions", len(names)) as advance:

        def graphs() -> Iterator[tuple[str, Graph]]:
            for pair in source.graphs(names):
                yield pair
                advance()

        return count_transitions(graphs(), names)


def _copy_graphs(source: Pack, names: list[str], output: Path) -> None:
    if output.exists():
        raise PackError(f"{output} exists; chosen graphs are written to a new pack")
    with PackWriter(output) as writer:
        for name, graph in source.graphs(names):
            writer.add(name, graph)
