"""``graph-net report``: one HTML file of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err, out
from graph_net.printable import count_phrase, short_bytes


def report_records(
    records: Annotated[
        Path, typer.Argument(metavar="[RECORDS]", help="Where the records are.")
    ] = Path("build/records"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="PACK", help="Draw graphs from it; the shipped corpus if not named."),
    ] = None,
    p: opt.Penalty = 0.0,
    b: opt.Base = 0.1,
    interpretation: opt.Interpretation = "default",
    title: Annotated[str, typer.Option(help="The heading; the records' name if empty.")] = "",
    tasks: Annotated[
        int, typer.Option(help="Tasks that are shown with their programs as code.", min=0)
    ] = 50,
) -> None:
    """Write one HTML file with everything the records say; it needs no network.

    Scores with intervals, curves, speedups by category, a table of graphs, groups of like failures,
    and for each graph its raw samples, operators and a drawing. Of programs: every task with its
    times, and the best and a typical schedule of those that take longest.
    """
    from graph_net.api.report import report

    page = report(
        records, output, corpus=corpus, p=p, b=b, interpretation=interpretation, title=title,
        tasks=tasks,
    )  # fmt: skip
    size = short_bytes(output.stat().st_size)
    counts = count_phrase(page.measurements, "measurement")
    if page.programs:
        counts += f", {count_phrase(page.programs, 'program')}"
    err.print(f"{output}: {counts}, {size}", highlight=False, soft_wrap=True)
    if page.measurements:
        _print_sentence(records, p, b, interpretation, output)


def _print_sentence(records: Path, p: float, b: float, interpretation: str, page: Path) -> None:
    """Print the scores in a sentence, and the address of the page."""
    from graph_net.score import score_sources

    board = score_sources([records], p, b, interpretation)
    if board.scored:
        line = f"{board.sentence}: {page.absolute().as_uri()}"
        out.print(line, highlight=False, soft_wrap=True)
