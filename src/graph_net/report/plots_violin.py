"""Draw the spread of speedups, by compiler and category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graph_net.report.plots_style import COLOURS, GREY, line_style, new_figure, plot_style, shorten
from graph_net.results import RecordError
from graph_net.score import Fault, ScoredGraphs
from graph_net.score.samples import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 12
"""Fewer speedups are drawn as points: they have no density."""
MOST = 28
"""Violins in one picture; with more, categories are merged."""
Groups = dict[str, dict[str, Floats]]


def groups_of(curves: Mapping[str, ScoredGraphs]) -> Groups:
    """Return log2 of the speedups of correct results by category and compiler.

    If samples have no category, or each compiler is one category, each compiler is a group.
    """
    groups: Groups = {}
    for name, samples in curves.items():
        # A wrong answer has no speedup.
        right = samples.timed & (samples.fault == Fault.NONE)
        logs, category = samples.log_speedup[right] / np.log(2), samples.category[right]
        for key in sorted(set(category)):
            groups.setdefault(str(key), {})[name] = logs[category == key]
    names = {name for group in groups.values() for name in group}
    violins = sum(len(group) for group in groups.values())
    if violins > MOST or (len(groups) > 1 and violins == len(groups) == len(names)) or "" in groups:
        return {name: {name: _merge(groups, name)} for name in curves if name in names}
    return groups


def _merge(groups: Groups, name: str) -> Floats:
    return np.concatenate([group[name] for group in groups.values() if name in group])


def violin_figure(curves: Mapping[str, ScoredGraphs]) -> Figure:
    """Draw a violin of speedups with its quartiles for each compiler, by category."""
    groups = groups_of(curves)
    if not groups:
        raise RecordError("nothing to draw: no result of these sources is correct")
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    single = all(list(group) == [key] for key, group in groups.items())
    positions, ticks = _positions(groups)
    with plot_style():
        width = min(13.0, max(4.2, 1.2 + 0.62 * len(positions)))
        figure = new_figure(width, 3.6 if single else 3.8)
        axes = figure.subplots()
        axes.set_axisbelow(True)
        axes.grid(axis="y", color="#E4E4E4", linewidth=0.5)
        axes.axhline(0, color=GREY, linewidth=0.8, linestyle=(0, (1, 1)), zorder=0.9)
        for (key, name), x in positions.items():
            _draw_violin(axes, x, groups[key][name], 0 if single else names.index(name))
        drawn = [groups[key][name] for key, name in positions]
        _set_axes(axes, drawn)
        _name_groups(axes, ticks, width / (len(positions) + 1))
        legend = "outline: density, bar: quartiles, marker: median"
        if all(len(logs) < FEW for logs in drawn):
            legend = "points: results, line: median"
        axes.set_title(f"{legend}; below: correct results", fontsize=7, color=GREY, loc="left")
        if not single:
            handles = [_handle(number, name) for number, name in enumerate(names)]
            figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(names)))
    return figure


def _positions(groups: Groups) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Return the position of each violin, and of the name of each group."""
    positions: dict[tuple[str, str], float] = {}
    ticks: dict[str, float] = {}
    x = 0.0
    for key, group in groups.items():
        start = x
        for name in group:
            positions[key, name] = x
            x += 1.0
        ticks[key] = (start + x - 1.0) / 2
        x += 0.7 if len(group) > 1 else 0.0
    return positions, ticks


def _marks(number: int) -> dict[str, Any]:
    """Return the style of the median's marker, which distinguishes compilers without colour."""
    return {
        "marker": line_style(number)["marker"], "markersize": 4.8, "color": "white",
        "markeredgecolor": "black", "markeredgewidth": 0.8,
    }  # fmt: skip


def _handle(number: int, name: str) -> Any:
    from matplotlib.lines import Line2D

    line = Line2D([], [], **_marks(number), label=shorten(name))
    line.set(color=COLOURS[number % len(COLOURS)], linewidth=5, markerfacecolor="white")
    return line


def _draw_violin(axes: Axes, x: float, logs: Floats, number: int) -> None:
    colour = COLOURS[number % len(COLOURS)]
    middle = float(np.median(logs))
    if len(logs) >= FEW and np.ptp(logs) > 0:
        drawn: Any = axes.violinplot([logs], [x], widths=0.85, showextrema=False)
        for body in drawn["bodies"]:
            body.set(facecolor=colour, edgecolor=colour, alpha=0.35, linewidth=0.8)
        low, high = np.quantile(logs, [0.25, 0.75])
        axes.vlines(x, low, high, color=colour, linewidth=5, zorder=3)
        axes.plot(x, middle, **_marks(number), zorder=4)
    else:
        spread = np.linspace(-0.12, 0.12, len(logs)) if len(logs) > 1 else np.zeros(1)
        axes.plot(x + spread, np.sort(logs), linestyle="none", markersize=3.5, color=colour,
                  marker=line_style(number)["marker"], zorder=3)  # fmt: skip
        axes.hlines(middle, x - 0.25, x + 0.25, color="black", linewidth=1.2, zorder=4)
    axes.annotate(f"{len(logs):,}", (x, 0.0), (0, 2), xycoords=axes.get_xaxis_transform(),
                  textcoords="offset points", fontsize=6.5, color=GREY, ha="center")  # fmt: skip


def _set_axes(axes: Axes, logs: Sequence[Floats]) -> None:
    low = min(-0.2, *(float(values.min()) for values in logs))
    high = max(0.2, *(float(values.max()) for values in logs))
    step = max(1, round((high - low) / 7)) if high - low > 2 else 0.5
    room = 0.12 * (high - low)
    marks = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    marks = marks[(marks >= low - 0.4 * room) & (marks <= high + 0.5 * room)]
    axes.set_ylim(low - room, high + 0.5 * room)
    axes.set_yticks(marks, [f"{2.0**mark:.2g}×" for mark in marks])
    axes.set_ylabel("speedup over eager (log scale)")


def _name_groups(axes: Axes, ticks: dict[str, float], inches: float) -> None:
    """Name the groups; names that would overlap are rotated."""
    names = [shorten(key.replace("_", " ")) for key in ticks]
    positions = list(ticks.values())
    room = min(np.diff(positions), default=9.0) * inches
    overlap = max(map(len, names)) * 0.075 > room
    rotation, side = (25, "right") if overlap else (0, "center")
    axes.set_xticks(positions, names, rotation=rotation, ha=side)
    axes.tick_params(axis="x", length=0)
    left, right = axes.get_xlim()
    axes.set_xlim(min(left, -0.7), max(right, positions[-1] + 0.7))
