"""``graph-net compare``: what got faster, slower, broken or fixed between two runs."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out
from graph_net.printable import printable

if TYPE_CHECKING:
    from graph_net.compare import Comparison, Row

REGRESSION = 1
MOST = 60
"""Graphs that are listed, the worst first."""
STYLES = {"slower": "red", "new failure": "red", "less correct": "red", "faster": "green",
          "fixed": "green", "more correct": "green"}  # fmt: skip


def compare_runs(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="Records, a part or journal of them, or logs.")
    ],
    second: Annotated[
        Path | None,
        typer.Argument(
            metavar="[B]", help="The same. Without it, compare within A; see --between."
        ),
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="OLD NEW",
            help="Two configurations instead of each with itself: inductor onnxruntime, "
            "inductor[mode=default] inductor[mode=max-autotune], tvm@0.23 tvm@0.24.",
        ),
    ] = None,
    compilers: Annotated[
        list[str] | None, typer.Option("--compiler", help="Only this configuration; repeatable.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="The smallest factor of speed that counts as a difference.")
    ] = 1.05,
    fdr: Annotated[
        float, typer.Option(help="The false discovery rate among faster and slower graphs.")
    ] = 0.05,
    levels: Annotated[
        float, typer.Option(help="How far the smallest passing t must rise to be less correct.")
    ] = 1.0,
    every: Annotated[
        bool, typer.Option("--all", help="List every graph, including those that stayed the same.")
    ] = False,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write Markdown for a pull request.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Compare two runs, two compilers or two versions of one, graph by graph.

    Speedups over eager are compared, each measured side by side with eager in one process. Exits
    with 0 if nothing regressed, with 1 if a graph is slower, newly fails or is less correct, and
    with 2 on an error. Noise and failures of the machine are excluded.
    """
    from graph_net.api.compare import compare
    from graph_net.compare.markdown import to_markdown
    from graph_net.store.atomic import write_text

    comparison = compare(
        first, second, between=between, compilers=compilers or (), threshold=threshold, fdr=fdr,
        levels=levels,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps(comparison.as_json(), indent=1))
    elif markdown != "-":
        _print_changes(comparison, every)
    if markdown == "-":
        typer.echo(printable(to_markdown(comparison), lines=True), nl=False)
    elif markdown is not None:
        write_text(Path(markdown), to_markdown(comparison))
    if comparison.regressions:
        raise typer.Exit(REGRESSION)


def _print_changes(comparison: Comparison, every: bool) -> None:
    from graph_net.compare.markdown import headline, settings_words, spread_words, summary

    out.print(headline(comparison), style="bold", highlight=False)
    out.print(f"A is {comparison.names[0]}, B is {comparison.names[1]}", highlight=False)
    out.print(summary(comparison), highlight=False)
    order = comparison.order()
    positions = order if every else order[comparison.changed[order]]
    shown = positions if every else positions[:MOST]
    if len(shown):
        out.print(_table(comparison.rows(shown)))
    if len(shown) < len(positions):
        err.print(f"… {len(positions) - len(shown):,} more; --all, --json and --markdown list them")
    for name, spread in comparison.spreads().items():
        err.print(f"{spread_words(name, spread)}, B / A", highlight=False)
    err.print(settings_words(comparison), highlight=False)


def _table(rows: list[Row]) -> Table:
    from graph_net.compare.markdown import change_words, format_ratio, format_speedups

    numbers = ("A → B", "B / A", "compile", "memory")
    columns = ("graph", "compiler", "change", *numbers, "why")
    table = new_table(*columns, title="speedups over eager", numbers=numbers)
    for row in rows:
        changes = Text(", ").join(Text(word, STYLES.get(word, "")) for word in change_words(row))
        costs = [row.costs[name] for name in ("compile time", "peak memory")]
        table.add_row(
            row.graph, row.compiler, changes, format_speedups(row), format_ratio(row),
            *("" if value is None else f"{value:.2f}×" for value in costs), row.sentence,
        )  # fmt: skip
    return table
