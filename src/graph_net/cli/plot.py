"""``graph-net plot``: pictures of scores and speedups."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import err


class Picture(StrEnum):
    """What ``--kind`` may be."""

    ALL = "all"
    ST = "st"
    EST = "est"
    VIOLIN = "violin"


def plot_sources(
    sources: opt.Sources,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where pictures go.")] = Path(
        "build/plots"
    ),
    kind: Annotated[Picture, typer.Option(help="Which picture.")] = Picture.ALL,
    formats: Annotated[str, typer.Option(help="Comma-separated: svg, pdf, png.")] = "svg,pdf,png",
    p: opt.Penalty = 0.0,
    b: opt.Base = 0.1,
    interpretation: opt.Interpretation = "default",
) -> None:
    """Draw S(t) and ES(t) with confidence bands, and the spread of speedups, for a paper.

    Records are drawn at every t, logs at whole ones. Colour-blind readers can distinguish the
    colours; dashes and markers distinguish the lines where there is no colour.
    """
    from graph_net.api.plot import plot

    wanted = [name.strip().lower() for name in formats.split(",") if name.strip()]
    for path in plot(sources, output, kind, wanted, p=p, b=b, interpretation=interpretation):
        err.print(str(path), highlight=False, soft_wrap=True)
