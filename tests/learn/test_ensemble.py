"""Ensembles: their mean, their doubt, and how often an interval holds."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graph_net.compilers.option import Json
from graph_net.learn.cost_model import save_model
from graph_net.learn.ensemble import Ensemble
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import load_model
from graph_net.learn.task_folds import task_folds
from graph_net.testing.cost_model import check_cost_model, easy_set

FEW: dict[str, Json] = {"base_options": {"rounds": 40, "leaves": 15}, "members": 3}
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("lightgbm") is None, reason="needs lightgbm"
)


def noisy_set(tasks: int, seed: int, programs: int = 20) -> LearningSet:
    """Tasks of their own difficulty: noise that differs between tasks and within them."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(0, 1, (tasks * programs, 4)).astype(np.float32)
    index = np.repeat(np.arange(tasks), programs)
    noise = generator.normal(0, 1, index.size) * (0.05 + 0.3 * rows[:, 2])
    own = generator.normal(0, 0.3, tasks)[index] * rows[:, 3]
    costs = 1e-3 * np.exp(2 * rows[:, 0] + (rows[:, 1] - 0.5) ** 2 + noise + own)
    described = [LearningTask(f"task {i}") for i in range(tasks)]
    return tabular_set(["a", "b", "c", "d"], rows, costs, index, described)


def fitted(seed: int = 0) -> Ensemble:
    model = Ensemble(FEW, seed)
    model.fit(noisy_set(200, seed))
    return model


def coverage(data: LearningSet, interval: tuple[Floats, Floats]) -> float:
    low, high = interval
    return float(((low <= data.programs.labels) & (data.programs.labels <= high)).mean())


def test_an_ensemble_passes_the_kit() -> None:
    check_cost_model(Ensemble, FEW)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_intervals_hold_as_often_as_they_say_on_unseen_tasks(level: float) -> None:
    held = [
        coverage(unseen, fitted(seed).predict_interval(unseen, level))
        for seed, unseen in enumerate(noisy_set(100, seed) for seed in (100, 101, 102))
    ]
    assert np.mean(held) == pytest.approx(level, abs=0.03)


def test_what_members_learned_from_would_have_been_too_sure() -> None:
    """The same quantile from training tasks holds less often: why others are set aside."""
    learned, unseen = noisy_set(80, 0), noisy_set(60, 100)
    model = Ensemble({**FEW, "base_options": {"rounds": 300}}, 0)
    model.fit(learned, held_out=learned)
    assert coverage(unseen, model.predict_interval(unseen, 0.9)) < 0.85


def test_folds_are_whole_networks_and_all_tasks() -> None:
    """Network n calls the tasks 3n to 3n + 2."""
    data = noisy_set(30, 0)
    named = [replace(task, weights={f"net {i // 3}": 1.0}) for i, task in enumerate(data.tasks)]
    folds = task_folds(replace(data, tasks=tuple(named)), 3, np.random.default_rng(0))
    networks = [{index // 3 for index in fold} for fold in folds]
    assert sorted(index for fold in folds for index in fold) == list(range(30))
    assert sum(map(len, networks)) == 10
    assert sorted(map(len, folds)) == [9, 9, 12]


def test_a_task_that_two_networks_call_is_in_one_fold() -> None:
    data = easy_set(tasks=4)
    calls = [{"a": 1.0}, {"a": 1.0, "b": 1.0}, {"b": 1.0}, {}]
    tasks = [replace(task, weights=each) for task, each in zip(data.tasks, calls, strict=True)]
    folds = task_folds(replace(data, tasks=tuple(tasks)), 2, np.random.default_rng(0))
    assert sorted(index for fold in folds for index in fold) == [0, 1, 2, 3]


def test_a_higher_level_is_wider_and_all_are_labels() -> None:
    model, unseen = fitted(), noisy_set(5, 200)
    (low, high), (lower, higher) = (model.predict_interval(unseen, at) for at in (0.5, 0.95))
    assert (lower <= low).all()
    assert (high <= higher).all()
    assert (lower >= 0).all()
    assert (higher <= 1).all()
    assert (high - low).mean() < (higher - lower).mean()


def test_members_disagree_more_where_they_learned_nothing() -> None:
    model = Ensemble({**FEW, "base": "mlp", "base_options": {"epochs": 8}})
    model.fit(noisy_set(40, 0))
    unseen = noisy_set(5, 200)
    far = replace(unseen, rows=unseen.rows * 4)
    assert width(model.predict_interval(far)) > width(model.predict_interval(unseen))


def width(interval: tuple[Floats, Floats]) -> float:
    low, high = np.maximum(interval, 1e-3)
    return float(np.log(high / low).mean())


def test_members_are_saved_beside_each_other_and_loaded_by_the_folder(tmp_path: Path) -> None:
    model, unseen = fitted(), noisy_set(5, 200)
    save_model(model, tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "intervals.json",
        *(f"member-{index}" for index in range(3)),
        "model.json",
    ]
    again = load_model(tmp_path / "model")
    assert isinstance(again, Ensemble)
    np.testing.assert_allclose(again.predict_interval(unseen), model.predict_interval(unseen))


def test_a_member_that_is_missing_is_named(tmp_path: Path) -> None:
    save_model(fitted(), tmp_path / "model")
    (tmp_path / "model/member-1/model.json").unlink()
    with pytest.raises(LearnError, match="member-1 holds no model"):
        load_model(tmp_path / "model")


def test_a_member_that_is_the_ensemble_itself_is_refused(tmp_path: Path) -> None:
    save_model(fitted(), tmp_path / "model")
    member = tmp_path / "model/member-0"
    member.rename(tmp_path / "aside")
    member.symlink_to(tmp_path / "model")
    with pytest.raises(LearnError, match="holds no model"):
        load_model(tmp_path / "model")


def test_one_task_is_not_enough() -> None:
    with pytest.raises(LearnError, match="give two"):
        Ensemble(FEW).fit(easy_set(tasks=1))


def test_a_level_is_a_part() -> None:
    with pytest.raises(LearnError, match="between 0 and 1, not 90"):
        fitted().predict_interval(noisy_set(2, 0), 90)
