"""``graph-net report``: one HTML file of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.common import err, out, short_bytes
from graph_net.cli.score import INTERPRETATION_HELP
from graph_net.printable import counted

if TYPE_CHECKING:
    from graph_net.corpus.pack import Pack
    from graph_net.score import Parameters


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
    p: Annotated[float, typer.Option("--p", help="Penalty for slowdowns.")] = 0.0,
    b: Annotated[float, typer.Option("--b", help="The speedup that stands for a failure.")] = 0.1,
    interpretation: Annotated[str, typer.Option(help=INTERPRETATION_HELP)] = "default",
    title: Annotated[str, typer.Option(help="The heading; the records' name if empty.")] = "",
    tasks: Annotated[
        int, typer.Option(help="So many tasks with their programs as code.", min=0)
    ] = 50,
) -> None:
    """Write one HTML file with everything the records say; it needs no network.

    Scores with intervals, curves, speedups by category, a table of graphs, failures that are alike
    together, and for each graph its raw samples, operators and a drawing. Where there are programs:
    every task with its times, and the best and a typical schedule of those that take longest.
    """
    from graph_net.report.page import write_page
    from graph_net.score import Parameters
    from graph_net.score import interpretation as interpretation_of

    parameters = Parameters(p, b, interpretation_of(interpretation))
    shown = write_page(records, output, pack_at_hand(corpus), parameters, title, tasks)
    size = short_bytes(output.stat().st_size)
    counts = counted(shown.measurements, "measurement")
    if shown.programs:
        counts += f", {counted(shown.programs, 'program')}"
    err.print(f"{output}: {counts}, {size}", highlight=False, soft_wrap=True)
    if shown.measurements:
        _say(records, parameters, output)


def _say(records: Path, parameters: Parameters, page: Path) -> None:
    """What it comes to, and where to read on."""
    from graph_net.score import estimate, load, sentence

    scored = {name: samples for name, samples in load([records]).items() if len(samples)}
    if scored:
        estimates = {name: estimate(each, parameters) for name, each in scored.items()}
        said = f"{sentence(scored, estimates)}: {page.absolute().as_uri()}"
        out.print(said, highlight=False, soft_wrap=True)


def pack_at_hand(named: Path | None) -> Pack | None:
    """The pack that was named, or the shipped one where there is one."""
    from graph_net.corpus.pack import Pack, PackError
    from graph_net.corpus.shipped import shipped_corpus

    if named is not None:
        return Pack(named)
    try:
        return Pack(shipped_corpus())
    except PackError:
        return None
