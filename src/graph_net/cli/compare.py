"""``graph-net compare``: what got faster, slower, broken or repaired between two runs."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from graph_net.cli.common import err, out
from graph_net.printable import printable

if TYPE_CHECKING:
    from graph_net.compare import Comparison, Row

REGRESSION = 1
MOST = 60
"""So many graphs are listed, the worst first."""
STYLES = {"slower": "red", "new failure": "red", "less correct": "red", "faster": "green",
          "fixed": "green", "more correct": "green"}  # fmt: skip


def compare_runs(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="Records, a part or journal of them, or logs.")
    ],
    second: Annotated[
        Path | None, typer.Argument(metavar="[B]", help="The same; left out, A with --between.")
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
        float, typer.Option(help="The factor from which on a difference of speed matters.")
    ] = 1.05,
    fdr: Annotated[
        float, typer.Option(help="The share of faster and slower graphs that may be false.")
    ] = 0.05,
    levels: Annotated[
        float, typer.Option(help="So far the smallest passing t must rise to be less correct.")
    ] = 1.0,
    every: Annotated[
        bool, typer.Option("--all", help="List every graph, those that stayed the same too.")
    ] = False,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write Markdown for a pull request.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Compare two runs, two compilers or two versions of one, graph by graph.

    Speedups over eager are compared, each measured side by side with eager in one process. Exits
    with 0 if nothing regressed, with 1 if a graph is slower, newly fails or is less correct, and
    with 2 if the question makes no sense. Noise and the machine's own failures never count.
    """
    from graph_net.api.compare import compare
    from graph_net.compare.markdown import markdown as markdown_of

    found = compare(
        first, second, between=between, compilers=compilers or (), threshold=threshold, fdr=fdr,
        levels=levels,
    )  # fmt: skip
    if json:
        typer.echo(jsonlib.dumps(found.as_json(), indent=1))
    elif markdown != "-":
        _show(found, every)
    if markdown == "-":
        typer.echo(printable(markdown_of(found), lines=True), nl=False)
    elif markdown is not None:
        Path(markdown).write_text(markdown_of(found), "utf-8")
    if found.regressions:
        raise typer.Exit(REGRESSION)


def _show(found: Comparison, every: bool) -> None:
    from graph_net.compare.markdown import headline, settings_words, spread_words, summary

    out.print(headline(found), style="bold", highlight=False)
    out.print(f"A is {found.names[0]}, B is {found.names[1]}", highlight=False)
    out.print(summary(found), highlight=False)
    order = found.order()
    places = order if every else order[found.telling[order]]
    shown = places if every else places[:MOST]
    if len(shown):
        out.print(_table(found.rows(shown)))
    if len(shown) < len(places):
        err.print(f"… {len(places) - len(shown):,} more; --all, --json and --markdown list them")
    for name, spread in found.spreads().items():
        err.print(f"{spread_words(name, spread)}, B / A", highlight=False)
    err.print(settings_words(found), highlight=False)


def _table(rows: list[Row]) -> Table:
    from graph_net.compare.markdown import change_words, ratio, speedups

    table = Table(title="speedups over eager", title_justify="left")
    for name in ("graph", "compiler", "change"):
        table.add_column(name, overflow="fold")
    for name in ("A → B", "B / A", "compile", "memory"):
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold")
    for row in rows:
        words = Text(", ").join(Text(word, STYLES.get(word, "")) for word in change_words(row))
        costs = [row.costs[name] for name in ("compile time", "peak memory")]
        table.add_row(
            row.graph, row.compiler, words, speedups(row), ratio(row),
            *("" if value is None else f"{value:.2f}×" for value in costs), row.sentence,
        )  # fmt: skip
    return table
