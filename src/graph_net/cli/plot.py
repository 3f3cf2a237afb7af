"""``graph-net plot``: pictures of scores and speedups."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.score import INTERPRETATION_HELP, SOURCES_HELP


class Picture(StrEnum):
    """What ``--kind`` may be."""

    ALL = "all"
    ST = "st"
    EST = "est"
    VIOLIN = "violin"


def plot_sources(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE…", help=SOURCES_HELP)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where pictures go.")] = Path(
        "build/plots"
    ),
    kind: Annotated[Picture, typer.Option(help="Which picture.")] = Picture.ALL,
    formats: Annotated[str, typer.Option(help="Comma-separated: svg, pdf, png.")] = "svg,pdf,png",
    p: Annotated[float, typer.Option("--p", help="Penalty for slowdowns.")] = 0.0,
    b: Annotated[float, typer.Option("--b", help="The speedup that stands for a failure.")] = 0.1,
    interpretation: Annotated[str, typer.Option(help=INTERPRETATION_HELP)] = "default",
) -> None:
    """Draw S(t) and ES(t) with confidence bands, and the spread of speedups, for a paper.

    Records are drawn at every t, logs at whole ones. Colour-blind readers can distinguish the
    colours; dashes and markers distinguish the lines where there is no colour.
    """
    from graph_net.api.plot import plot

    wanted = [name.strip().lower() for name in formats.split(",") if name.strip()]
    for path in plot(sources, output, kind, wanted, p=p, b=b, interpretation=interpretation):
        err.print(str(path), highlight=False, soft_wrap=True)
