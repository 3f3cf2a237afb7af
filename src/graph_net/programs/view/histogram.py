"""Histograms of the times of a task's programs, on a logarithmic scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 16
BLOCKS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Histogram:
    """``counts[n]`` programs take between ``edges[n]`` and ``edges[n + 1]`` seconds."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


def histogram(costs: NDArray[np.float64], bins: int = BINS) -> Histogram:
    """Return bins of equal ratio from the best to the worst; one bin if all are equal."""
    if not len(costs):
        return Histogram((), ())
    low, high = float(costs.min()), float(costs.max())
    if high <= low * (1 + 1e-9):
        return Histogram((low, high), (len(costs),))
    places = np.log(costs / low) / np.log(high / low) * bins
    counts = np.bincount(np.clip(places.astype(int), 0, bins - 1), minlength=bins)
    edges = low * (high / low) ** (np.arange(bins + 1) / bins)
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()))


def text_histogram(costs: NDArray[np.float64], width: int = 40) -> list[str]:
    """Return a line per bin: its least time, a bar, its count, and best, median or worst."""
    found = histogram(costs)
    if not found.counts:
        return []
    most = max(found.counts)
    # For an even number, the lower median, so that it is an actual program.
    marks = [("best", 0), ("median", (len(costs) - 1) // 2), ("worst", len(costs) - 1)]
    ranks = np.cumsum((0, *found.counts))
    lines = []
    for place, count in enumerate(found.counts):
        names = [name for name, rank in marks if ranks[place] <= rank < ranks[place + 1]]
        bar = _bar(count / most * width, width)
        said = f"{short_seconds(found.edges[place]):>9} {bar} {count:>7,} {', '.join(names)}"
        lines.append(said.rstrip())
    return lines


def _bar(length: float, width: int) -> str:
    """Return a bar in eighths of a character; never empty for a positive length."""
    eighths = max(round(length * 8), 1 if length > 0 else 0)
    whole, rest = divmod(eighths, 8)
    return (BLOCKS[8] * whole + (BLOCKS[rest] if rest else "")).ljust(width)


def short_seconds(seconds: float | None) -> str:
    """Return a time with three digits and its unit; empty for None."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9995:
            return f"{_three(seconds / size)} {unit}"
    return f"{_three(seconds / 1e-9)} ns"


def _three(number: float) -> str:
    """Return a number with three significant digits, without an exponent."""
    return f"{number:#.3g}".rstrip(".") if number < 999.5 else f"{number:,.0f}"
