"""PaCM: a cost that only statements and primitives together tell."""

import importlib.util

import numpy as np
import pytest

from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask
from graph_net.learn.metrics import TaskCosts, best_over_picked, random_best_over_picked
from graph_net.learn.model_registry import create_model
from graph_net.learn.pacm import Pacm
from graph_net.testing.cost_model import check_cost_model, easy_set

FEW = {"epochs": 60, "width": 16, "rate": 5e-3}
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("safetensors") is None, reason="needs safetensors"
)


def two_kinds(seed: int = 0, tasks: int = 12, programs: int = 32) -> LearningSet:
    """Programs of one or two statements and up to three primitives, which share the cost."""
    generator = np.random.default_rng(seed)
    count = tasks * programs
    stores, steps = generator.integers(1, 3, count), generator.integers(0, 4, count)
    starts = np.concatenate([[0], np.cumsum(stores + steps)])
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], stores + steps)
    is_store = place < np.repeat(stores, stores + steps)
    values = generator.uniform(0, 1, starts[-1]).astype(np.float32)
    rows = np.stack([values * is_store, is_store, values * ~is_store], axis=1).astype(np.float32)
    log_costs = np.add.reduceat(rows[:, 0] + rows[:, 2], starts[:-1])
    costs = TaskCosts.of(1e-3 * np.exp(log_costs), np.repeat(np.arange(tasks), programs))
    described = tuple(LearningTask(f"task {index}") for index in range(tasks))
    return LearningSet(("store.work", "is_store", "step.work"), rows, starts, costs, described)


def test_pacm_passes_the_kit() -> None:
    check_cost_model(Pacm, {**FEW, "epochs": 10}, two_kinds())


def test_both_kinds_of_rows_are_learned_from() -> None:
    model, unseen = create_model("pacm", FEW), two_kinds(seed=1)
    model.fit(two_kinds())
    chance = random_best_over_picked(unseen.programs).mean()
    assert best_over_picked(unseen.programs, model.predict(unseen)).mean() > (1 + chance) / 2


def test_a_set_of_one_kind_of_rows_is_refused() -> None:
    with pytest.raises(LearnError, match=r"no column is_store .* per_store\+primitives"):
        create_model("pacm").fit(easy_set())
