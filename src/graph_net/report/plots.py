"""Draw plots of results into files."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from graph_net.report.plots_curves import curves_figure
from graph_net.report.plots_lines import Which, lines_of
from graph_net.report.plots_style import FORMATS, save
from graph_net.report.plots_violin import violin_figure
from graph_net.score import Parameters, load


class PlotKind(StrEnum):
    """The kinds of pictures; the values name their files, as GraphNet's tools do."""

    ST = "St_result"
    EST = "ESt_result"
    VIOLIN = "Violin_Eval_Result"


def draw(
    kind: PlotKind,
    sources: Sequence[Path | str],
    folder: Path | str,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Draw one picture of sources and return its files."""
    if kind is PlotKind.VIOLIN:
        figure = violin_figure(load(sources))
    else:
        which: Which = "s" if kind is PlotKind.ST else "es"
        figure = curves_figure(lines_of(sources, which, parameters), which, parameters)
    return save(figure, Path(folder), kind.value, formats)
