"""``graph-net coreset``: few graphs whose score tells that of the whole corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP
from graph_net.cli.sample import copy_graphs
from graph_net.cli.score import SOURCES_HELP
from graph_net.corpus.pack import Pack, PackError
from graph_net.corpus.query import select
from graph_net.corpus.shipped import shipped_corpus
from graph_net.printable import printable

if TYPE_CHECKING:
    from graph_net.coreset import Expected, Measured, Transitions

EAGER = "eager"
"""Against itself it tells nothing of compilers."""
METHOD_HELP = (
    "coreset (graphs right on average, what matters learnt from records), features (the same "
    "without records), markov (cover operator transitions), random."
)


def coreset_graphs(
    count: Annotated[int, typer.Option("--count", "-k", min=1, help="How many graphs.")] = 64,
    pack: Annotated[
        Path | None, typer.Argument(help="A pack; the shipped corpus if none is named.")
    ] = None,
    records: Annotated[list[Path], typer.Option("--records", "-r", help=SOURCES_HELP)] = [],  # noqa: B006 - never changed
    method: Annotated[str, typer.Option(help=METHOD_HELP)] = "coreset",
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    transitions: Annotated[
        bool, typer.Option(help="Read every graph, so that markov is compared too.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Another seed chooses others.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new pack to write them to.")
    ] = None,
) -> None:
    """Choose few graphs whose score predicts that of all, with its error (`sample` is by kind).

    Measured records tell which features of a graph matter and how large the error is, by
    cross-validation; without records graphs are chosen by their features and no error is stated.
    """
    from graph_net.coreset import METHODS

    if method not in METHODS:
        raise ValueError(f"Unknown method: {method!r}. Available: {', '.join(METHODS)}")
    source = Pack(pack or shipped_corpus())
    rows = select(source, where)
    if not rows:
        raise PackError("no graph to choose from")
    found = _transitions(source, rows) if transitions or method == "markov" else None
    names, errors = _chosen(rows, records, found, method, count, seed)
    if errors:
        _table(errors, method, f"{len(names)} of {len(rows):,} graphs")
    else:
        err.print("no records that tell the error of a prediction: give some with --records")
    if output is None:
        typer.echo("\n".join(map(printable, names)))
        return
    copy_graphs(source, names, output)


def _transitions(source: Pack, rows: list[dict[str, Any]]) -> Transitions:
    from rich.progress import track

    from graph_net.coreset import transitions

    names = [row["name"] for row in rows]
    graphs = track(source.graphs(names), "operator transitions", len(rows), console=err)
    return transitions(graphs, names)


def _chosen(
    rows: list[dict[str, Any]],
    records: list[Path],
    found: Transitions | None,
    method: str,
    count: int,
    seed: int,
) -> tuple[list[str], list[Expected]]:
    """The names of the chosen, and the errors to expect where records tell them."""
    from graph_net.coreset import METHODS, expected_errors, features, learn
    from graph_net.coreset.errors import Known, without

    table = features(rows)
    heavy = table
    errors: list[Expected] = []
    if measured := _measured(rows, records):
        places, values = without(measured)
        heavy = learn(table[places], values).emphasised(table)
        errors = [e for e in expected_errors(table, measured, count, found, seed) if e.trials]
    chosen = METHODS[method](Known(table, heavy, found), count, seed)
    return sorted(rows[place]["name"] for place in chosen), errors


def _measured(rows: list[dict[str, Any]], records: list[Path]) -> list[Measured]:
    """The values of each compiler on the graphs of the pack that it was measured on."""
    import numpy as np

    from graph_net.coreset import Measured, values_of
    from graph_net.score import load

    place = {row["id"]: number for number, row in enumerate(rows)}
    found: list[Measured] = []
    for name, samples in load(records).items() if records else ():
        if not len(samples) or name == EAGER:
            continue
        held = np.array([str(graph) in place for graph in samples.graph], np.bool_)
        held &= ~samples.untimed  # what was too noisy has no value of its own
        kept = samples.take(held)
        if len(kept):
            places = np.array([place[str(graph)] for graph in kept.graph], np.int64)
            found.append(Measured(places, kept.family, values_of(kept)))
    return found


def _table(errors: list[Expected], method: str, what: str) -> None:
    table = Table(title=f"{what}; expected error of the aggregate", title_justify="left")
    table.add_column("method")
    for name in ("error", "trials"):
        table.add_column(name, justify="right")
    for one in sorted(errors, key=lambda e: e.factor):
        mark = " *" if one.method == method else ""
        table.add_row(one.method + mark, f"×/÷ {one.factor:.3f}", f"{one.trials:,}")
    err.print(table)
