"""The process over a space's parameters, and the search by its bound."""

from __future__ import annotations

import json
from itertools import product
from random import Random

import numpy as np
import pytest

from graph_net.learn.learning_set import LearningTask, tabular_set
from graph_net.learn.metrics import Floats, Ints
from graph_net.results import canonical
from graph_net.search.confidence_bound import ConfidenceBound
from graph_net.search.descent import descend
from graph_net.search.history import SearchHistory
from graph_net.search.parameter_process import _loss, condition_parameters, fit_settings
from graph_net.search.parameters import Parameter, parameter_columns, space_parameters
from graph_net.search.proposer import RandomProposer
from graph_net.search.search import Search, SearchPlan
from graph_net.search.search_space import ListedSpace
from search.some_spaces import bowl


def _measured(count: int) -> tuple[tuple[Parameter, ...], Ints, Floats, Floats]:
    """Return a bowl's parameters, some of its programs, their values, and those of all."""
    task = bowl()
    costs = np.array([task.measurer.costs[text] for text in task.space.schedules])
    values = np.log(np.where(np.isfinite(costs), costs, costs[np.isfinite(costs)].max()))
    programs = np.random.default_rng(0).permutation(costs.size)[:count].astype(np.int64)
    parameters = space_parameters([json.loads(text) for text in task.space.schedules])
    return parameters, programs, values[programs], values


def test_the_slope_of_the_likelihood_is_its_derivative() -> None:
    parameters, programs, values, _ = _measured(20)
    scales = sum(one.features.shape[1] for one in parameters)
    settings = np.linspace(-1.0, 0.5, scales + len(parameters) + 1)
    _, slope = _loss(parameters, programs, values, settings)
    for index, expected in enumerate(slope.tolist()):
        step = np.zeros(settings.size)
        step[index] = 1e-5
        above, _ = _loss(parameters, programs, values, settings + step)
        below, _ = _loss(parameters, programs, values, settings - step)
        assert (above - below) / 2e-5 == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_the_process_predicts_programs_that_were_not_measured() -> None:
    parameters, programs, values, every = _measured(50)
    settings = fit_settings(parameters, programs, values)
    mean, deviation = condition_parameters(parameters, programs, values, settings).predict()
    others = np.setdiff1d(np.arange(every.size), programs)
    assert np.corrcoef(mean[others], every[others])[0, 1] > 0.95
    assert np.abs(mean[programs] - values).max() < 0.1
    assert deviation[others].mean() > deviation[programs].mean()


def test_the_bound_reaches_the_best_of_a_bowl_after_its_design() -> None:
    task = bowl()
    proposer = ConfidenceBound(RandomProposer())
    history = Search(task.space, task.measurer, proposer, SearchPlan(40, polish=0.0)).run()
    assert (history.measurements_to(task.measurer.best) or 41) <= 40


def test_one_proposer_searches_spaces_in_turns() -> None:
    proposer = ConfidenceBound(RandomProposer(), design=4)
    for task in (bowl(), bowl()):
        plan = SearchPlan(10, polish=0.0)
        assert Search(task.space, task.measurer, proposer, plan).run().programs == 10


def test_a_space_that_is_not_varied_is_left_to_the_other_proposer() -> None:
    data = tabular_set(["x"], np.ones((1, 1), np.float32), [1.0], [0], [LearningTask("one", "op")])
    space = ListedSpace((canonical({"x": 1}),), data)
    chance = Random(0)  # noqa: S311
    assert ConfidenceBound(RandomProposer()).propose(space, SearchHistory(), 3, chance) == [
        space.schedules[0]
    ]


def test_the_features_of_a_parameter_are_its_own() -> None:
    configs = [{"size": size, "use": use, "one": 1} for size, use in product((48, 64, 96), (0, 1))]
    columns = parameter_columns(configs)
    assert {name: list(mine) for name, mine in columns.items()} == {
        "size": ["size", "size divisor"],
        "use": ["use"],
    }
    size, use = space_parameters(configs)
    assert size.squares.shape == (2, 3, 3)
    assert use.features[use.codes].mean() == pytest.approx(0)


def test_a_descent_stays_within_its_bounds_and_returns_the_least() -> None:
    def loss(asked: Floats) -> tuple[float, Floats]:
        return float(((asked - 3) ** 2).sum()), 2 * (asked - 3)

    start, lowest, highest = np.zeros(2), np.array([-1.0, -1.0]), np.array([5.0, 1.0])
    assert descend(loss, start, lowest, highest, 60) == pytest.approx([3.0, 1.0], abs=0.02)
