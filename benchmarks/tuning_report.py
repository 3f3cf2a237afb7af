"""The page of `benchmarks/tuning.py`: how many measurements each arm took, and their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, geometric_mean, median

import numpy as np

from graph_net.learn.studies.study import Line, StudyPicture, markdown_table
from graph_net.learn.studies.study_page import StudyPage
from graph_net.search.history import SearchHistory

TITLE = "A pre-trained model against MetaSchedule's default"
ABOUT = (
    "Both search on this CPU, in the same forked and placed trials. The default is MetaSchedule's "
    "evolutionary search from scratch with its XGBoost model, which here learns after every 16 "
    "programs (by itself: after every 64). Ours starts from models that have not seen these "
    "networks, corrected by a local Gaussian process: with --draft, a model of loops chooses "
    "candidates to compile, and a model of their machine code those to measure. The goal is the "
    "default's best; the ratio is its measurements when it first reached it over ours (–: ours did "
    "not reach it, and counts as one measurement more than it made). The last columns are the best "
    "of both over what each had. The width of the evolution and how unlike the programs of a batch "
    "are were chosen on 20 held-out tasks, some of these among them, with seed 0."
)
POINTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Measurements at which curves are drawn."""
Row = tuple[str, int, list[list[float]]]
"""What was tuned, the seed, and the curve of each arm in seconds."""
DRAWN = 10_000


def needed(curves: Sequence[Sequence[float]]) -> list[int]:
    """Return after how many measurements each arm has reached the default's best."""
    goal = curves[1][-1]
    return [
        next((n for n, seconds in enumerate(curve, 1) if seconds <= goal), len(curve) + 1)
        for curve in curves
    ]


def network_curve(histories: Sequence[SearchHistory], weights: Sequence[float]) -> list[float]:
    """Return the seconds of a network after each number of measurements of every task."""
    most = max(map(len, histories))
    curves = [[*one.curve, *[one.curve[-1]] * (most - len(one))] for one in histories]
    return [
        sum(weight * curve[n] for weight, curve in zip(weights, curves, strict=True))
        for n in range(most)
    ]


def page(rows: Sequence[Row], name: str, options: str, output: Path) -> str:
    """Write the page and the picture; return the table."""
    cells, ratios = [], []
    for title, seed, curves in rows:
        mine, theirs = needed(curves)
        ratios.append(theirs / mine)
        best = min(curve[-1] for curve in curves)
        parts = [best / curves[0][min(n, len(curves[0])) - 1] for n in (1, 8)]
        parts += [best / curves[0][-1], best / curves[1][-1]]
        count = f"{mine}" if mine <= len(curves[0]) else "–"
        numbers = [f"{part:.3f}" for part in parts]
        cells.append([title, str(seed), f"{theirs}", count, f"{ratios[-1]:.1f}", *numbers])
    heads = ["tuned", "seed", "default's best after", "ours as fast after", "ratio"]
    heads += ["ours after 1", "after 8", "at the end", "default at the end"]
    table = markdown_table(heads, cells)
    table += f"\n\nGeometric mean of the ratios {geometric_mean(ratios):.1f}"
    if len({title for title, _, _ in rows}) > 1:
        low, high = interval([title for title, _, _ in rows], ratios)
        table += f" ({low:.1f} … {high:.1f}, 95 % over what was tuned)"
    table += f", median {median(ratios):.1f}."
    ours, default = mean_curve(rows, 0), mean_curve(rows, 1)
    after = next((n for n, part in enumerate(ours, 1) if part >= default[-1]), len(ours))
    table += (
        f" The mean of best / found is {default[-1]:.3f} after {len(default)} measurements of the "
        f"default, and {ours[after - 1]:.3f} after {after} of ours."
    )
    picture = StudyPicture(list(lines(rows)), "measurements of a task", "best of both / found")
    seeds = len({seed for _, seed, _ in rows})
    command = f"python -m benchmarks.tuning {options} --seeds {seeds} -o {output}"
    StudyPage(TITLE, ABOUT, command, picture, table).write(output, name)
    return table


def interval(titles: Sequence[str], ratios: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the geometric mean, from drawing what was tuned anew."""
    grouped: dict[str, list[float]] = {}
    for title, ratio in zip(titles, ratios, strict=True):
        grouped.setdefault(title, []).append(float(np.log(ratio)))
    means = np.array([fmean(logs) for logs in grouped.values()])
    draws = np.random.default_rng(0).integers(0, len(means), (DRAWN, len(means)))
    low, high = np.exp(np.quantile(means[draws].mean(axis=1), [0.025, 0.975]))
    return float(low), float(high)


def mean_curve(rows: Sequence[Row], arm: int) -> list[float]:
    """Return the mean of best / found after each number of measurements that every row has."""
    count = min(len(curves[arm]) for _, _, curves in rows)
    best = [min(curve[-1] for curve in curves) for _, _, curves in rows]
    return [
        fmean(least / curves[arm][n] for least, (_, _, curves) in zip(best, rows, strict=True))
        for n in range(count)
    ]


def lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Yield the mean of best / found of each arm, by the number of measurements."""
    for arm, name in enumerate(("pre-trained model", "MetaSchedule's default")):
        mean = mean_curve(rows, arm)
        yield name, [(float(n), mean[n - 1], 0.0) for n in POINTS if n <= len(mean)]
