"""Draws docs/corpus-*.svg from corpus/stats.json: by library, category, size and operator.

One colour carries the amounts and every bar is labelled, so that no picture needs colour to be
read; the categories have the Okabe-Ito colours, which colour-blind people tell apart.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from graph_net.corpus import stats as counts
from graph_net.corpus.stats import Stats

ROOT = Path(__file__).parents[1]
BAR = "#0072B2"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "graph-net",  # the same counts give the same file
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
MOST_OPERATORS = 30


def by_library(stats: Stats) -> Figure:
    """Graphs of each library, divided by category."""
    names = sorted(stats.libraries, key=lambda name: sum(stats.libraries[name].values()))
    figure, axes = _figure(7.5, 1.4 + 0.3 * len(names))
    left = [0] * len(names)
    for colour, category in zip(COLOURS, stats.categories, strict=False):
        widths = [stats.libraries[name].get(category, 0) for name in names]
        axes.barh(
            names, widths, left=left, color=colour, label=category, edgecolor="white", linewidth=0.3
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for position, total in enumerate(left):
        axes.text(total, position, f" {total:,}", va="center")
    axes.set_xlabel("graphs")
    axes.legend(frameon=False, loc="lower right")
    return figure


def by_category(stats: Stats) -> Figure:
    """Graphs of each category."""
    return _bars(list(stats.categories.items()), "graphs")


def by_size(stats: Stats) -> Figure:
    """How many graphs have how many nodes."""
    figure, axes = _figure(7.5, 2.8)
    labels = [f"≤ {int(edge):,}" for edge in stats.decades]
    bars = axes.bar(labels, list(stats.decades.values()), color=BAR)
    axes.bar_label(bars, labels=[f"{number:,}" for number in stats.decades.values()])
    axes.set_xlabel("nodes of a graph")
    axes.set_ylabel("graphs")
    axes.tick_params(axis="x", labelsize=8)
    return figure


def by_operator(stats: Stats) -> Figure:
    """In how many graphs each of the most frequent operators is called."""
    most = list(stats.operators.items())[:MOST_OPERATORS]
    words = f"graphs that call it (of {stats.graphs:,}); the {len(most)} most frequent"
    return _bars(most, f"{words} of {len(stats.operators):,} operators")


def _bars(counted: list[tuple[str, int]], label: str) -> Figure:
    figure, axes = _figure(7.5, 1.0 + 0.22 * len(counted))
    names, numbers = zip(*reversed(counted), strict=True)
    bars = axes.barh(names, numbers, color=BAR)
    axes.bar_label(bars, labels=[f"{number:,}" for number in numbers], padding=3)
    axes.set_xlabel(label)
    axes.margins(y=0.01)
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


PICTURES = {
    "library": by_library,
    "category": by_category,
    "size": by_size,
    "operators": by_operator,
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--stats", type=Path, default=ROOT / "corpus" / counts.FILE)
    options.add_argument("--output", type=Path, default=ROOT / "docs")
    options.add_argument("--format", default="svg", choices=("svg", "png"))
    given = options.parse_args()
    found = counts.load_stats(given.stats)
    with mpl.rc_context(STYLE):
        for name, draw in PICTURES.items():
            place = given.output / f"corpus-{name}.{given.format}"
            when = {"Date": None} if given.format == "svg" else {}
            draw(found).savefig(place, format=given.format, metadata=when, dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
