"""How fast a program a model finds in a new task, by the number of programs measured first.

For each number, every task gets two values. ``reached``: the task's best cost over the best of the
measured programs and the program that the model would measure next. ``picked``: the same for the
next program alone, among those not yet measured, which shows the model's skill without luck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from graph_net.learn.adapting import Adapts
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.paired import PairedDifference, compare_models

COUNTS = (0, 1, 2, 4, 8, 16, 32, 64)


class Strategy(StrEnum):
    """How the programs to measure are chosen."""

    RANDOM = "random"
    """The same for every model."""
    GREEDY = "greedy"
    """The programs that the model ranks first, given the earlier measurements."""


@dataclass(frozen=True)
class FewShotPoint:
    """What a model finds in each task after this many measurements."""

    measured: int
    reached: Floats
    picked: Floats


@dataclass(frozen=True)
class FewShotComparison:
    """A model at one number of measurements: its means, and its paired lead over a baseline."""

    model: str
    measured: int
    reached: PairedDifference
    picked: PairedDifference
    reached_over: PairedDifference
    picked_over: PairedDifference


def tasks_with_more(data: LearningSet, count: int) -> LearningSet:
    """Return the tasks with more than ``count`` programs, so that a curve has the same tasks."""
    wanted = np.flatnonzero(data.programs.sizes > count)
    if not wanted.size:
        raise LearnError(f"no task has more than {count} programs: measure fewer of each")
    return data.select(wanted.tolist())


def few_shot_curve(
    model: Adapts,
    data: LearningSet,
    counts: Sequence[int] = COUNTS,
    strategy: Strategy = Strategy.RANDOM,
    seeds: Sequence[int] = (0,),
) -> list[FewShotPoint]:
    """Return the curve of a model; each task is averaged over ``seeds`` of the random choice.

    Every task must have more programs than the greatest of ``counts``; see ``tasks_with_more``.
    """
    if list(counts) != sorted(set(counts)) or not counts or counts[0] < 0:
        raise LearnError("numbers of measured programs grow, from 0 at least")
    if data.programs.sizes.min() <= counts[-1]:
        raise LearnError(f"a task has not more than {counts[-1]} programs: see tasks_with_more")
    curves = [_curve(model, data, counts, strategy, seed) for seed in seeds]
    return [
        FewShotPoint(
            points[0].measured,
            np.mean([point.reached for point in points], axis=0),
            np.mean([point.picked for point in points], axis=0),
        )
        for points in zip(*curves, strict=True)
    ]


def compare_curves(
    curves: Mapping[str, Sequence[FewShotPoint]], baseline: str, seed: int = 0
) -> list[FewShotComparison]:
    """Return each model's means and its difference from the baseline, with 95 % intervals."""
    return [
        FewShotComparison(
            name,
            point.measured,
            _difference(point.reached, np.zeros_like(point.reached), seed),
            _difference(point.picked, np.zeros_like(point.picked), seed),
            _difference(point.reached, base.reached, seed),
            _difference(point.picked, base.picked, seed),
        )
        for name, points in curves.items()
        for point, base in zip(points, curves[baseline], strict=True)
    ]


def format_comparisons(rows: Sequence[FewShotComparison], baseline: str) -> str:
    """Return a Markdown table: a row per model and number of measured programs."""
    lines = [
        f"| model | measured | reached | less {baseline}'s | next pick | less {baseline}'s |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        means = (row.reached, row.reached_over, row.picked, row.picked_over)
        cells = " | ".join(map(_format, means, ("", "+", "", "+")))
        lines.append(f"| {row.model} | {row.measured} | {cells} |")
    return "\n".join(lines)


def _curve(
    model: Adapts, data: LearningSet, counts: Sequence[int], strategy: Strategy, seed: int
) -> list[FewShotPoint]:
    groups = list(data.programs.rows())
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(rows) for rows in groups]
    measured = [np.zeros(0, np.int64) for _ in groups]
    points = []
    for count in counts:
        if strategy is Strategy.RANDOM:
            measured = [order[:count] for order in orders]
        elif count:
            scores = model.predict_given(data, np.concatenate(measured))
            measured = [
                np.append(known, _best_left(rows, known, scores, count - known.size))
                for rows, known in zip(groups, measured, strict=True)
            ]
        points.append(_point(model, data, measured))
    return points


def _point(model: Adapts, data: LearningSet, measured: Sequence[Ints]) -> FewShotPoint:
    scores = model.predict_given(data, np.concatenate(measured))
    found = []
    for rows, known in zip(data.programs.rows(), measured, strict=True):
        following = _best_left(rows, known, scores, 1)
        left = np.setdiff1d(rows, known)
        costs = data.programs.costs
        found.append((
            _ratio(costs[rows].min(), costs[np.append(known, following)].min()),
            _ratio(costs[left].min(), costs[following].min()),
        ))  # fmt: skip
    reached, picked = np.array(found).T
    return FewShotPoint(measured[0].size, reached, picked)


def _best_left(rows: Ints, known: Ints, scores: Floats, count: int) -> Ints:
    """Return the ``count`` unmeasured programs with the highest scores."""
    left = np.setdiff1d(rows, known)
    return left[np.argsort(-scores[left], kind="stable")[:count]]


def _ratio(best: float, chosen: float) -> float:
    """Return best / chosen: 0 if the chosen one failed, 1 if all did."""
    return 1.0 if best == chosen else float(best / chosen)


def _difference(one: Floats, other: Floats, seed: int) -> PairedDifference:
    return compare_models(one, other, seed=seed)[0]


def _format(mean: PairedDifference, sign: str) -> str:
    return f"{mean.value:{sign}.4f} ({mean.low:{sign}.4f} … {mean.high:{sign}.4f})"
