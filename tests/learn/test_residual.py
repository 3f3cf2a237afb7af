"""A prior and what it gets wrong."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graph_net.compilers.option import Json
from graph_net.learn.cost_model import save_model
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import TaskCosts, best_over_picked, pairwise_accuracy
from graph_net.learn.model_registry import create_model, load_model
from graph_net.learn.residual import ResidualModel, correct_model
from graph_net.testing.cost_model import check_cost_model, easy_set

FEW: dict[str, Json] = {"rounds": 60, "least_in_leaf": 5}
WEAK: dict[str, Json] = {
    "prior": "lightgbm",
    "prior_options": {"rounds": 3, "leaves": 2},
    "base_options": FEW,
}
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("lightgbm") is None, reason="needs lightgbm"
)


def elsewhere(seed: int, tasks: int = 12) -> LearningSet:
    """Tasks like the easy ones, where the feature that never mattered decides as well."""
    data = easy_set(seed=seed, tasks=tasks)
    costs = data.programs.costs * np.exp(1.5 * data.rows[:, 2])
    return replace(data, programs=TaskCosts.of(costs, data.programs.tasks))


def test_prior_and_residual_pass_the_kit() -> None:
    check_cost_model(ResidualModel, WEAK)


def test_the_residual_mends_a_prior_that_has_learned_little() -> None:
    model, unseen = create_model("residual", WEAK), elsewhere(seed=5)
    model.fit(elsewhere(seed=4))
    assert isinstance(model, ResidualModel)
    alone = pairwise_accuracy(unseen.programs, model.prior.predict(unseen))
    assert pairwise_accuracy(unseen.programs, model.predict(unseen)) > alone + 0.05


@pytest.mark.parametrize(
    ("base", "few"), [("lightgbm", FEW), ("xgboost", FEW), ("mlp", {"epochs": 10})]
)
def test_a_trained_model_is_corrected_by_a_few_programs(base: str, few: dict[str, Json]) -> None:
    for needed in ("xgboost", "safetensors"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"needs {needed}")
    trained, unseen = create_model("lightgbm", {"rounds": 80}), elsewhere(seed=7)
    trained.fit(easy_set())
    before = trained.predict(unseen).copy()
    corrected = correct_model(trained, elsewhere(seed=6), {"base": base, "base_options": few})
    picked = best_over_picked(unseen.programs, corrected.predict(unseen)).mean()
    assert picked > best_over_picked(unseen.programs, before).mean()
    np.testing.assert_array_equal(trained.predict(unseen), before)


def test_a_saved_correction_has_its_prior_with_it(tmp_path: Path) -> None:
    trained = create_model("lightgbm", {"rounds": 20})
    trained.fit(easy_set())
    corrected = correct_model(trained, elsewhere(seed=6))
    save_model(corrected, tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_allclose(again.predict(easy_set()), corrected.predict(easy_set()))


def test_an_unknown_base_is_named() -> None:
    with pytest.raises(LearnError, match="unknown cost model 'magic'"):
        create_model("residual", {"prior": "lightgbm", "base": "magic"}).fit(easy_set(tasks=2))
