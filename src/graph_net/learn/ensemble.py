"""Several models of one kind, whose mean is the score and whose disagreement is a doubt.

Intervals are conformal: how far the mean is off, in units of the members' disagreement, is seen on
tasks that no member learned from (of networks that none saw, where tasks say which call them), and
the quantile of that is the width, every task counting the same. An interval of 90 % then
holds the labels of 90 % of the programs of a new task, on average over tasks like those.
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

PART = "intervals.json"
GRID = 1000
"""Steps of the stored quantiles."""
LEAST_NETWORKS = 5
"""Networks of a set from which on whole networks are set aside, not tasks."""


@dataclass(frozen=True)
class _Calibration:
    """How scores become labels, and how wide an interval is in units of the disagreement."""

    scale: ScoreScale
    least_spread: float
    """Added to the disagreement: members that agree may all be wrong."""
    tasks: int
    widths: tuple[float, ...]
    """Quantiles 0, 1/GRID, … 1 of (|error| / disagreement), every task counting the same."""

    def __post_init__(self) -> None:
        if self.tasks < 1 or len(self.widths) < 2 or self.least_spread <= 0:
            raise ValueError("a calibration has a task, quantiles and a positive spread")

    def width(self, level: float) -> float:
        """Return the quantile of a level, higher for the few tasks that it is known from."""
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
        "set_aside": Option(0.2, least=0.01, most=0.9),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Train the members; calibrate on ``held_out``, else on tasks that are set aside."""
        generator = np.random.default_rng(self.seed)
        learned = data
        if held_out is None:
            learned, held_out = _set_aside(data, self.number("set_aside"), generator)
        self._members = []
        for index in range(int(self.number("members"))):
            member = create_inner(self, "base", self.seed + index)
            member.fit(_split(learned, self.number("share"), generator)[0])
            self._members.append(member)
        self._calibration = _calibrate(*self._mean_and_spread(held_out), held_out)
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        """Return logarithms of labels."""
        self.learned().check_columns(data)
        return self._calibration.scale.apply(self._mean_and_spread(data)[0])

    def predict_interval(self, data: LearningSet, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the lowest and highest label of each program, if it runs, at this confidence."""
        if not 0 < level < 1:
            raise LearnError(f"a level is between 0 and 1, not {level}")
        self.learned().check_columns(data)
        known = self._calibration
        mean, spread = self._mean_and_spread(data)
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

    def _mean_and_spread(self, data: LearningSet) -> tuple[Floats, Floats]:
        scores = np.stack([member.predict(data) for member in self._members])
        return scores.mean(axis=0), scores.std(axis=0)


def _set_aside(
    data: LearningSet, share: float, generator: np.random.Generator
) -> tuple[LearningSet, LearningSet]:
    """Return tasks to learn from and tasks to be calibrated on, of other networks where possible.

    Tasks of one network resemble each other: an unknown network is worse than an unknown task.
    """
    networks = sorted({network for task in data.tasks for network in task.weights})
    if len(networks) < LEAST_NETWORKS:
        return _split(data, 1 - share, generator)
    aside: set[int] = set()
    for network in generator.permutation(networks):
        calls = {index for index, task in enumerate(data.tasks) if network in task.weights}
        if len(aside | calls) <= share * len(data.tasks) or not aside:
            aside |= calls
    rest = sorted(set(range(len(data.tasks))) - aside)
    if not rest:
        return _split(data, 1 - share, generator)
    return data.select(rest), data.select(sorted(aside))


def _split(
    data: LearningSet, share: float, generator: np.random.Generator
) -> tuple[LearningSet, LearningSet]:
    """Return a random share of the tasks, and the others; each has one at the least."""
    order = generator.permutation(len(data.tasks))
    if order.size == 1:
        raise LearnError("an ensemble learns from some tasks and is calibrated on others: give two")
    count = int(np.clip(round(share * order.size), 1, order.size - 1))
    return data.select(np.sort(order[:count]).tolist()), data.select(
        np.sort(order[count:]).tolist()
    )


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
