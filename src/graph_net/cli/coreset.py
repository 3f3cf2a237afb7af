"""``graph-net coreset``: few graphs whose score predicts that of the whole corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table
from graph_net.cli.sample import print_choice

if TYPE_CHECKING:
    from graph_net.coreset import ExpectedError

METHOD_HELP = (
    "coreset (graphs right on average, weighted by records), features (the same "
    "without records), markov (cover operator transitions), random."
)


def coreset_graphs(
    count: Annotated[int, typer.Option("--count", "-k", min=1, help="How many graphs.")] = 64,
    pack: opt.Pack = None,
    records: Annotated[list[Path], typer.Option("--records", "-r", help=opt.SOURCES_HELP)] = [],  # noqa: B006 - never changed
    method: Annotated[str, typer.Option(help=METHOD_HELP)] = "coreset",
    where: opt.Where = None,
    transitions: Annotated[
        bool, typer.Option(help="Read every graph, so that markov is compared too.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new pack to write them to.")
    ] = None,
) -> None:
    """Choose few graphs whose score predicts that of all, with its error (`sample` is by kind).

    Which features of a graph matter and how large the error is, is learned from records by
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


def _print_errors(errors: list[ExpectedError], method: str, title: str) -> None:
    numbers = ("error", "trials")
    title = f"{title}; expected error of the aggregate"
    table = new_table("method", *numbers, title=title, numbers=numbers)
    for error in sorted(errors, key=lambda error: error.factor):
        mark = " *" if error.method == method else ""
        table.add_row(error.method + mark, f"×/÷ {error.factor:.3f}", f"{error.trials:,}")
    err.print(table)
