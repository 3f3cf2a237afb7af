"""Plot a study's answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.learn.studies.study import StudyPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_IN_LEGEND = 16


def draw_picture(picture: StudyPicture, path: Path) -> None:
    """Write a plot as SVG; equal numbers give equal bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    height = 0.9 + 0.28 * len(picture.lines) if picture.bars else 4.2
    figure = Figure(figsize=(7.5, height), layout="constrained")
    axes = figure.add_subplot()
    (_bars if picture.bars else _lines)(axes, picture)
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.hashsalt": "graph-net"}):
        figure.savefig(path, metadata={"Date": None})


def _bars(axes: Axes, picture: StudyPicture) -> None:
    names = [name for name, _ in picture.lines]
    means = [points[0][1] for _, points in picture.lines]
    spreads = [points[0][2] for _, points in picture.lines]
    axes.barh(names, means, xerr=spreads, color="#4c78a8", ecolor="#333333", capsize=2)
    low = min(mean - spread for mean, spread in zip(means, spreads, strict=True))
    left = low - 0.1 * (1 - low) - 0.01
    axes.set_xlim(left=left if low < 0 else max(0.0, left))
    axes.set_xlabel(picture.y)
    axes.tick_params(axis="y", labelsize=8)


def _lines(axes: Axes, picture: StudyPicture) -> None:
    for name, points in picture.lines:
        x, y, spread = zip(*points, strict=True)
        axes.errorbar(x, y, yerr=spread, label=name, marker="o", markersize=3, capsize=2, lw=1.2)
    if picture.log:
        axes.set_xscale("log")
    axes.set_xlabel(picture.x)
    axes.set_ylabel(picture.y)
    if len(picture.lines) <= MOST_IN_LEGEND:
        axes.legend(frameon=False, fontsize=8)
