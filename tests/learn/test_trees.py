"""Boosted trees: weights of good programs, and when to stop."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import TaskCosts
from graph_net.learn.model_registry import create_model
from graph_net.learn.trees import _Trees
from graph_net.testing.cost_model import easy_set

TREES = ["lightgbm", "xgboost"]


@pytest.fixture(params=TREES)
def name(request: pytest.FixtureRequest) -> str:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"needs {request.param}")
    return str(request.param)


def noise(seed: int) -> LearningSet:
    """Costs that no feature tells."""
    data = easy_set(seed=seed)
    costs = np.random.default_rng(seed).uniform(1, 2, len(data))
    return replace(data, programs=TaskCosts.of(costs, data.programs.tasks))


def test_weight_on_the_best_programs_moves_a_guess_towards_them(name: str) -> None:
    """Where features tell nothing, all that can be said is a weighted mean of log labels."""
    labels = noise(0).programs.labels
    for power, weights in ((0.0, np.ones(labels.size)), (4.0, labels**4 + 0.1)):
        model = create_model(name, {"rounds": 60, "leaves": 2, "weight_best": power})
        model.fit(noise(0))
        expected = np.average(np.log(labels), weights=weights)
        assert model.predict(noise(1)).mean() == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("objective", ["regression", "lambdarank"])
def test_what_does_not_help_held_out_tasks_is_not_added(name: str, objective: str) -> None:
    short = create_model(name, {"objective": objective, "rounds": 300})
    long = create_model(name, {"objective": objective, "rounds": 300})
    short.fit(noise(0), held_out=noise(1))
    long.fit(noise(0))
    assert isinstance(short, _Trees)
    assert isinstance(long, _Trees)
    assert len(short._text()) < len(long._text()) / 2


def test_rounds_are_as_many_as_asked_for_where_nothing_is_held_out(name: str) -> None:
    few, many = create_model(name, {"rounds": 5}), create_model(name, {"rounds": 50})
    few.fit(easy_set())
    many.fit(easy_set())
    assert isinstance(few, _Trees)
    assert isinstance(many, _Trees)
    assert len(few._text()) < len(many._text())
