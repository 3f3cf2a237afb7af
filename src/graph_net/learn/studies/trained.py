"""Shared by studies of whole models: train one, judge it, keep each task's ratio."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph_net.learn.cost_model import CostModel
from graph_net.learn.evaluation import evaluate_scores
from graph_net.learn.label_scale import LabelScale
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import Floats, TaskCosts, best_over_picked
from graph_net.learn.model_registry import model_from_text
from graph_net.results import Json

REACHED = "reached at 1"
"""Best / picked of each task."""


def train_and_judge(
    text: str, seed: int, train: MeasuredSet, test: MeasuredSet
) -> tuple[CostModel, dict[str, Json]]:
    """Return a trained model, and all its scores on the test set."""
    model = model_from_text(text, seed)
    model.fit(train.data)
    scale = LabelScale.fit(train.data.programs, model.predict(train.data))
    return model, judge(model, test, scale)


def judge(model: CostModel, test: MeasuredSet, scale: LabelScale | None) -> dict[str, Json]:
    """Return the scores of a model on a set, by metric, and each task's ratio."""
    scores = model.predict(test.data)
    evaluation = evaluate_scores(test, scores, scale)
    result: dict[str, Json] = {score.metric: score.value for score in evaluation.scores}
    ceilings = {s.metric: s.ceiling for s in evaluation.scores if s.ceiling is not None}
    randoms = {score.metric: score.random for score in evaluation.scores}
    result |= {"random": _plain(randoms), "ceiling": _plain(ceilings)}
    result["effective tasks"] = evaluation.effective_tasks
    result[REACHED] = best_over_picked(test.data.programs, scores).tolist()
    return result


def measured_until_near(programs: TaskCosts, scores: Floats, within: float) -> list[int]:
    """Return how many programs of each task are measured, in order of scores, until one is near.

    A program is near if it is at most ``within`` slower than the best of all.
    """
    counts = []
    for rows in programs.rows():
        order = rows[np.argsort(-scores[rows], kind="stable")]
        near = programs.costs[order] <= (1 + within) * programs.costs[rows].min()
        counts.append(int(near.argmax()) + 1)
    return counts


def _plain(values: Mapping[str, float]) -> dict[str, Json]:
    return {name: float(value) for name, value in values.items()}
