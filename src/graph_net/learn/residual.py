"""A prior model, and a second one that learns the prior's errors.

With the analytical prior it is a roofline with a learned correction. With a pre-trained model
(``correct_model``) it is TenSet's local model: fitted to (label - prediction) on the first measured
programs of a new task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Json, Option
from graph_net.learn.cost_model import (
    CostModel,
    Domain,
    load_json_part,
    save_json_part,
    save_model,
)
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Floats, TaskCosts
from graph_net.learn.model_registry import create_inner, load_model
from graph_net.learn.score_scale import ScoreScale, log_labels

PRIOR, BASE, SLOPES = "prior", "residual", "slopes.json"
MOST_CORRECTION = 30.0
"""Bound of a correction, as a logarithm; larger errors of a prior are clipped."""


@dataclass(frozen=True)
class _Slopes:
    """Weights of the two scores in their sum."""

    prior: float
    residual: float


class ResidualModel(CostModel):
    """Prior + residual, both as log labels."""

    name = "residual"
    options: ClassVar[dict[str, Option]] = {
        "prior": Option("analytical"),
        "prior_options": Option({}),
        "base": Option("lightgbm"),
        "base_options": Option({}),
    }
    trained: CostModel | None = None
    """A fitted prior; without it, one is trained on the same set."""
    prior: CostModel

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        self.prior = self.trained or create_inner(self, "prior", self.seed)
        if self.trained is None:
            self.prior.fit(data, held_out)
        slope = ScoreScale.fit(self.prior.prior_scores(data), data).slope
        rest = _without(data, slope * self.prior.prior_scores(data))
        held = None
        if held_out is not None:
            held = _without(held_out, slope * self.prior.prior_scores(held_out))
        self._base = create_inner(self, "base", self.seed)
        self._base.fit(rest, held)
        self._slopes = _Slopes(slope, ScoreScale.fit(self._base.prior_scores(rest), rest).slope)
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        self.learned().check_columns(data)
        known = self._slopes.prior * self.prior.prior_scores(data)
        return known + self._slopes.residual * self._base.prior_scores(data)

    def save_parts(self, folder: Path) -> None:
        self.learned()
        save_model(self.prior, folder / PRIOR)
        save_model(self._base, folder / BASE)
        save_json_part(self._slopes, folder / SLOPES)

    def load_parts(self, folder: Path) -> None:
        self._slopes = load_json_part(_Slopes, folder / SLOPES)
        self.prior, self._base = load_model(folder / PRIOR), load_model(folder / BASE)


def correct_model(
    prior: CostModel,
    measured: LearningSet,
    options: Mapping[str, Json] | None = None,
    seed: int = 0,
) -> ResidualModel:
    """Return a trained model, corrected by programs measured since."""
    model = ResidualModel(options, seed)
    model.trained = prior
    model.fit(measured)
    return model


def _without(data: LearningSet, known: Floats) -> LearningSet:
    """Return the set whose log labels are, within a task, what ``known`` leaves unexplained.

    Its costs are chosen to have these labels, so that any model can learn the rest.
    """
    rest = np.clip(log_labels(data) - known, -MOST_CORRECTION, MOST_CORRECTION)
    return replace(data, programs=TaskCosts.of(np.exp(-rest), data.programs.tasks))
