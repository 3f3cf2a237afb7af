"""Draw S(t) and ES(t)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graph_net.report.plots_lines import Line, Which
from graph_net.report.plots_style import GREY, line_style, new_figure, plot_style, shorten
from graph_net.score import Fault, Parameters
from graph_net.score.samples import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"s": "S(t)", "es": "ES(t)"}
WORDS = {
    Fault.ACCURACY: "accuracy",
    Fault.MISMATCH: "type,\nshape",
    Fault.RUNTIME: "run time",
    Fault.COMPILE: "compile",
}
_TICKS = (
    (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100),
    tuple(n / 10 for n in range(1, 31)),
    tuple(n / 20 for n in range(1, 61)),
)
MOST_TICKS = 9


def curves_figure(
    lines: Sequence[Line],
    which: Which,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
    confidence: float = 0.95,
) -> Figure:
    """Draw one line per compiler over the tolerance t, with its band."""
    with plot_style():
        below = 0.19 * ((len(lines) + 1) // 2)
        figure = new_figure(6.3, 3.5 + below)
        axes = figure.subplots()
        axes.set_yscale("log")
        _draw_background(axes, which, parameters)
        for number, line in enumerate(lines):
            _draw_line(axes, line, line_style(number))
        _set_axes(axes, which, lines)
        bands = any(line.low is not None for line in lines)
        title = f"p = {parameters.p:g}, b = {parameters.b:g}"
        if bands:
            title += f", bands: {confidence:.0%} over model families"
        axes.set_title(title, fontsize=8, color=GREY, loc="left")
        figure.legend(loc="outside lower center", ncols=2 if len(lines) > 1 else 1)
    return figure


def _draw_line(axes: Axes, line: Line, style: dict[str, Any]) -> None:
    label = shorten(line.name) + (f" ({line.note})" if line.note else "")
    colour, marker = style["color"], style["marker"]
    ts, index = _corners(line)
    axes.plot(ts, line.values[index], linewidth=1.4, zorder=3, **style | {"marker": ""})
    if line.low is not None and line.high is not None:
        axes.fill_between(
            ts, line.low[index], line.high[index], color=colour, alpha=0.13, linewidth=0
        )
    whole = np.isclose(line.ts, np.round(line.ts))
    axes.plot(line.ts[whole], line.values[whole], linestyle="none", marker=marker, markersize=3.4,
              color=colour, zorder=4)  # fmt: skip
    axes.plot([], [], label=label, linewidth=1.4, markersize=3.4, **style)


def _corners(line: Line) -> tuple[Floats, Ints]:
    """Return the corners of a line: their t, and the indices of their values.

    Up to t = 0 samples begin to pass one by one: a slope. A log has whole levels only, so the line
    between two of them is a guess. Above 0, whole kinds of failures are tolerated: a jump.
    """
    jumps = line.ts > 0 if line.whole else line.ts >= 1
    jumps[0] = False
    ts = np.repeat(line.ts, 1 + jumps)
    index = np.repeat(np.arange(len(line.ts)), 1 + jumps)
    before = np.flatnonzero(np.diff(index, append=-1) == 0)
    index[before] -= 1
    return ts, index


def _draw_background(axes: Axes, which: Which, parameters: Parameters) -> None:
    axes.set_axisbelow(True)
    axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (1, 1)), zorder=0.9)
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.5)
    if which != "es":
        return
    axes.axvspan(0.5, 4.4, color="#F3F3F3", linewidth=0, zorder=-1)
    levels = parameters.interpretation.tolerated_from
    by_level: dict[float, list[str]] = {}
    for fault, name in WORDS.items():
        if levels[fault] <= 4 and not (fault is Fault.MISMATCH and _as_runtime(parameters)):
            by_level.setdefault(levels[fault], []).append(name)
    _annotate(axes, 0.5, "failures tolerated:", (3, -3), "left")
    for level, names in by_level.items():
        _annotate(axes, level, "\n".join(names), (0, -12), "center")


def _annotate(axes: Axes, t: float, text: str, offset: tuple[float, float], side: str) -> None:
    axes.annotate(
        text, (t, 1), offset, xycoords=axes.get_xaxis_transform(), textcoords="offset points",
        fontsize=6, color=GREY, va="top", ha=side,
    )  # fmt: skip


def _as_runtime(parameters: Parameters) -> bool:
    levels = parameters.interpretation.tolerated_from
    return levels[Fault.MISMATCH] == levels[Fault.RUNTIME]


def _set_axes(axes: Axes, which: Which, lines: Sequence[Line]) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    first = min(float(line.ts.min()) for line in lines)
    last = max(float(line.ts.max()) for line in lines)
    axes.set_xlim(first - 0.3, last + 0.4)
    axes.set_xticks(np.arange(np.ceil(first), np.floor(last) + 1))
    shown = [v for line in lines for v in (line.values, line.low, line.high) if v is not None]
    low, high = min(float(v.min()) for v in shown), max(float(v.max()) for v in shown)
    low, high = min(low, 1.0) / 1.06, max(high, 1.0) * (1.5 if which == "es" else 1.08)
    axes.set_ylim(low, high)
    fitting = [[tick for tick in ticks if low <= tick <= high] for ticks in _TICKS]
    # The densest that stays readable; the first if all are too dense.
    axes.set_yticks(next((t for t in reversed(fitting) if len(t) <= MOST_TICKS), fitting[0]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("tolerance t")
    axes.set_ylabel(NAMES[which])
