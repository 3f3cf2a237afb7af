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
    from graph_net.coreset import Expected, Transitions

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
    from graph_net.coreset import METHODS, select_graphs

    if method not in METHODS:
        raise ValueError(f"Unknown method: {method!r}. Available: {', '.join(METHODS)}")
    source = Pack(pack or shipped_corpus())
    rows = select(source, where)
    if not rows:
        raise PackError("no graph to choose from")
    found = _transitions(source, rows) if transitions or method == "markov" else None
    names, errors = select_graphs(rows, records, found, method, count, seed)
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


def _table(errors: list[Expected], method: str, what: str) -> None:
    table = Table(title=f"{what}; expected error of the aggregate", title_justify="left")
    table.add_column("method")
    for name in ("error", "trials"):
        table.add_column(name, justify="right")
    for one in sorted(errors, key=lambda e: e.factor):
        mark = " *" if one.method == method else ""
        table.add_row(one.method + mark, f"×/÷ {one.factor:.3f}", f"{one.trials:,}")
    err.print(table)
