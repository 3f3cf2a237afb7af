"""``graph-net coreset``: few graphs whose score tells that of the whole corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP
from graph_net.cli.sample import print_choice
from graph_net.cli.score import SOURCES_HELP

if TYPE_CHECKING:
    from graph_net.coreset import Expected

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
    from graph_net.api.select import choose_coreset

    coreset = choose_coreset(
        pack, records, count, method=method, where=where, transitions=transitions, seed=seed,
        output=output,
    )  # fmt: skip
    if coreset.errors:
        title = f"{len(coreset.names)} of {coreset.total:,} graphs"
        _print_errors(coreset.errors, method, title)
    else:
        err.print("no records to estimate the error of a prediction from; give some with --records")
    print_choice(coreset.names, output)


def _print_errors(errors: list[Expected], method: str, title: str) -> None:
    table = Table(title=f"{title}; expected error of the aggregate", title_justify="left")
    table.add_column("method")
    for name in ("error", "trials"):
        table.add_column(name, justify="right")
    for error in sorted(errors, key=lambda error: error.factor):
        mark = " *" if error.method == method else ""
        table.add_row(error.method + mark, f"×/÷ {error.factor:.3f}", f"{error.trials:,}")
    err.print(table)
