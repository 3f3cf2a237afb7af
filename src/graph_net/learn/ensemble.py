"""Several models of one kind: their mean is the score, their disagreement the uncertainty.

Intervals are conformal. The error of the mean, in units of the members' disagreement, is measured
on tasks that the members did not learn from; its quantile, with equal weight per task, is the
width. A 90 % interval then holds the labels of 90 % of the programs of a new task, on average over
similar tasks. Without held-out tasks, members trained on folds of the networks give the errors; the
members that are kept learn from all tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Option
from graph_net.learn.cost_model import (
    CostModel,
    Domain,
    load_json_part,
    save_json_part,
    save_model,
)
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import create_inner, load_model
from graph_net.learn.score_scale import LEAST_LABEL, ScoreScale, log_labels
from graph_net.learn.task_folds import task_folds

PART = "intervals.json"
GRID = 1000
"""Number of steps of the stored quantiles."""


@dataclass(frozen=True)
class _Calibration:
    """How scores become labels, and the width of intervals in units of the disagreement."""

    scale: ScoreScale
    least_spread: float
    """Added to the disagreement, because members that agree may all be wrong."""
    tasks: int
    widths: tuple[float, ...]
    """Quantiles 0, 1/GRID, … 1 of (|error| / disagreement), with equal weight per task."""

    def __post_init__(self) -> None:
        if self.tasks < 1 or len(self.widths) < 2 or self.least_spread <= 0:
            raise ValueError("a calibration has a task, quantiles and a positive spread")

    def width(self, level: float) -> float:
        """Return the quantile of a level, raised to allow for the few tasks it is based on."""
        place = min(1.0, level * (1 + 1 / self.tasks))
        return float(np.interp(place, np.linspace(0, 1, len(self.widths)), self.widths))


class Ensemble(CostModel):
    """The mean of members with different seeds, each trained on a random share of the tasks."""

    name = "ensemble"
    options: ClassVar[dict[str, Option]] = {
        "base": Option("lightgbm"),
        "base_options": Option({}),
        "members": Option(5, least=2, most=64),
        "share": Option(0.8, least=0.1, most=1.0),
        "folds": Option(3, least=2, most=64),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Train the members; calibrate on ``held_out``, else by folds of ``data``."""
        generator = np.random.default_rng(self.seed)
        if held_out is None:
            self._calibration = _calibrate(*self._unseen(data, generator), data)
        self._members = self._train(data, generator)
        if held_out is not None:
            self._calibration = _calibrate(*_mean_and_spread(self._members, held_out), held_out)
        self.domain = Domain.of(data)

    def _train(self, data: LearningSet, generator: np.random.Generator) -> list[CostModel]:
        members = []
        for index in range(int(self.number("members"))):
            member = create_inner(self, "base", self.seed + index)
            member.fit(_draw(data, self.number("share"), generator))
            members.append(member)
        return members

    def _unseen(self, data: LearningSet, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return mean and disagreement on each fold, by members trained on the other folds."""
        mean, spread = np.empty(len(data)), np.empty(len(data))
        for fold in task_folds(data, int(self.number("folds")), generator):
            rest = sorted(set(range(len(data.tasks))) - set(fold))
            members = self._train(data.select(rest), generator)
            inside = np.isin(data.programs.tasks, fold)
            mean[inside], spread[inside] = _mean_and_spread(members, data.select(fold))
        return mean, spread

    def predict(self, data: LearningSet) -> Floats:
        """Return log labels."""
        self.learned().check_columns(data)
        return self._calibration.scale.apply(_mean_and_spread(self._members, data)[0])

    def predict_interval(self, data: LearningSet, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the bounds of each program's label, if it runs, at this confidence."""
        if not 0 < level < 1:
            raise LearnError(f"a level is between 0 and 1, not {level}")
        self.learned().check_columns(data)
        known = self._calibration
        mean, spread = _mean_and_spread(self._members, data)
        middle = known.scale.apply(mean)
        half = known.width(level) * (known.scale.slope * spread + known.least_spread)
        low, high = (np.exp(np.minimum(middle + by, 0.0)) for by in (-half, half))
        return np.where(low > LEAST_LABEL, low, 0.0), np.maximum(high, LEAST_LABEL)

    def save_parts(self, folder: Path) -> None:
        self.learned()
        for index, member in enumerate(self._members):
            save_model(member, folder / f"member-{index}")
        save_json_part(self._calibration, folder / PART)

    def load_parts(self, folder: Path) -> None:
        self._calibration = load_json_part(_Calibration, folder / PART)
        count = int(self.number("members"))
        self._members = [load_model(folder / f"member-{index}") for index in range(count)]


def _mean_and_spread(members: list[CostModel], data: LearningSet) -> tuple[Floats, Floats]:
    scores = np.stack([member.prior_scores(data) for member in members])
    return scores.mean(axis=0), scores.std(axis=0)


def _draw(data: LearningSet, share: float, generator: np.random.Generator) -> LearningSet:
    """Return a random share of the tasks, at least one."""
    count = max(1, round(share * len(data.tasks)))
    return data.select(np.sort(generator.permutation(len(data.tasks))[:count]).tolist())


def _calibrate(mean: Floats, spread: Floats, data: LearningSet) -> _Calibration:
    scale = ScoreScale.fit(mean, data)
    ran = np.isfinite(data.programs.costs)
    errors = np.abs(log_labels(data) - scale.apply(mean))[ran]
    least = max(float(np.median(errors)), 1e-6)
    ratios = errors / (scale.slope * spread[ran] + least)
    weights = 1 / data.programs.sizes[data.programs.tasks[ran]]
    widths = _quantiles(ratios, weights)
    return _Calibration(scale, least, len(data.tasks), widths)


def _quantiles(values: Floats, weights: Floats) -> tuple[float, ...]:
    """Return the weighted quantiles at the steps of the grid."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(reached, np.linspace(0, 1, GRID + 1)).clip(max=values.size - 1)
    return tuple(values[order][places].tolist())
