"""A conformance kit for cost models: call ``check_cost_model`` in a test."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from graph_net.compilers.option import Json
from graph_net.learn.cost_model import FILE, CostModel, save_model
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import best_over_picked, random_best_over_picked

NO_OPTION = "graph_net_has_no_such_option"


class ModelDefect(AssertionError):
    """A model violates the protocol ``graph_net.learn.cost_model.CostModel``."""


def easy_set(tasks: int = 12, programs: int = 48, seed: int = 0) -> LearningSet:
    """Return tasks whose fast programs are determined by two of their four features."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(0, 1, (tasks * programs, 4)).astype(np.float32)
    index = np.repeat(np.arange(tasks), programs)
    costs = (1 + tasks - index) * 1e-3 * np.exp(2 * rows[:, 0] + (rows[:, 1] - 0.5) ** 2)
    costs[rows[:, 1] > 0.97] = np.inf  # some fail, for a reason that can be learned
    described = [LearningTask(f"task {i}", "matmul", "here", {"net": 1.0}) for i in range(tasks)]
    return tabular_set(["slow", "middle", "idle", "noise"], rows, costs, index, described)


def check_cost_model(
    kind: type[CostModel],
    options: Mapping[str, Json] | None = None,
    data: LearningSet | None = None,
) -> None:
    """Raise ModelDefect unless a model learns, is deterministic, and survives save and load."""
    learned = data or easy_set()
    asked = data or easy_set(seed=1)
    _check_options(kind)
    model = kind(options, seed=3)
    _check_untaught(model, asked)
    model.fit(learned)
    if model.domain is None or model.domain.columns != learned.columns:
        raise ModelDefect("fit() does not set the domain")
    scores = _checked_scores(model, asked)
    picked = best_over_picked(asked.programs, scores).mean()
    if picked <= random_best_over_picked(asked.programs).mean():
        raise ModelDefect(f"what it picks ({picked:.3f} of the best) is no better than chance")
    alone = asked.select([len(asked.tasks) - 1])
    rows = asked.programs.tasks == len(asked.tasks) - 1
    if not np.allclose(model.predict(alone), scores[rows], rtol=1e-4, atol=1e-6):
        raise ModelDefect("the score of a program depends on programs of other tasks")
    twin = kind(options, seed=3)
    twin.fit(learned)
    if not np.allclose(twin.predict(asked), scores, rtol=1e-5, atol=1e-7):
        raise ModelDefect("the same seed and data give another model")
    _check_saved(kind, model, asked)


def _check_options(kind: type[CostModel]) -> None:
    try:
        kind({NO_OPTION: 1})
    except LearnError:
        return
    raise ModelDefect("an unknown option is accepted")


def _check_untaught(model: CostModel, asked: LearningSet) -> None:
    try:
        model.predict(asked)
    except LearnError:
        return
    raise ModelDefect("predict() before fit() does not raise LearnError")


def _checked_scores(model: CostModel, asked: LearningSet) -> np.ndarray:
    scores = model.predict(asked)
    if scores.shape != (len(asked),) or not np.isfinite(scores).all():
        raise ModelDefect(f"predict() gives {scores.shape}, not a finite score for each program")
    return scores


def _check_saved(kind: type[CostModel], model: CostModel, asked: LearningSet) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        save_model(model, folder)
        for file in folder.rglob("*"):
            if file.is_file() and file.read_bytes()[:2] in (b"\x80\x04", b"\x80\x05", b"PK"):
                raise ModelDefect(f"{file.name} is a pickle or an archive")
        again = kind(model.settings, seed=3)
        again.load_parts(folder)
        again.domain = model.domain
        if not np.allclose(again.predict(asked), model.predict(asked), rtol=1e-5, atol=1e-7):
            raise ModelDefect("a loaded model scores otherwise than the saved one")
        for file in folder.rglob("*"):
            if file.is_file() and file.name != FILE:
                file.write_bytes(b"damaged")
        try:
            kind(model.settings).load_parts(folder)
        except LearnError:
            return
        raise ModelDefect("load_parts() takes a damaged file")
