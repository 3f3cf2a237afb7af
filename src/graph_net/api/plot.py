"""Draw scores and speedups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path


def plot(
    sources: Sequence[Path],
    output: Path,
    kind: str = "all",
    formats: Sequence[str] = ("svg", "pdf", "png"),
    *,
    p: float = 0.0,
    b: float = 0.1,
    interpretation: str = "default",
) -> Iterator[Path]:
    """Draw S(t), ES(t), the spread of speedups, or all of them; yield the files."""
    from graph_net.report.plots import PlotKind, draw
    from graph_net.score import Parameters, find_interpretation

    parameters = Parameters(p, b, find_interpretation(interpretation))
    for plot_kind in list(PlotKind) if kind == "all" else [PlotKind[kind.upper()]]:
        yield from draw(plot_kind, sources, output, parameters, formats)
