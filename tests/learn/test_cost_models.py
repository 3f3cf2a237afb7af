"""Cost models: the kit, what it finds, saved models, and models asked beyond what they learned."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graph_net.learn.cost_model import CostModel, Domain, save_model
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask
from graph_net.learn.losses import LOSSES
from graph_net.learn.metrics import (
    Floats,
    TaskCosts,
    best_over_picked,
    random_best_over_picked,
)
from graph_net.learn.model_registry import create_model, load_model, model_names
from graph_net.learn.trees import pool_rows
from graph_net.testing.cost_model import ModelDefect, check_cost_model, easy_set

TREES = ["lightgbm", "xgboost"]
NEURAL = ["mlp", "lstm", "attention"]


def require(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"needs {name}")


class Slowness(CostModel):
    """A model in a few lines: the part of a cost that the first feature explains."""

    name = "slowness"

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        labels = np.log(np.maximum(data.programs.labels, 1e-3))
        self.slope = float(np.polyfit(data.rows[:, 0], labels, 1)[0])
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        self.learned()
        return self.slope * data.rows[:, 0].astype(np.float64)

    def save_parts(self, folder: Path) -> None:
        (folder / "slope.json").write_text(json.dumps(self.slope))

    def load_parts(self, folder: Path) -> None:
        try:
            self.slope = float(json.loads((folder / "slope.json").read_text()))
        except ValueError as error:
            raise LearnError("not a slope") from error


def test_a_model_of_a_few_lines_passes_the_kit() -> None:
    check_cost_model(Slowness)


@pytest.mark.parametrize("name", TREES)
def test_trees_pass_the_kit(name: str) -> None:
    require(name)
    check_cost_model(type(create_model(name)), {"rounds": 80})


@pytest.mark.parametrize("name", NEURAL)
def test_networks_pass_the_kit(name: str) -> None:
    require("safetensors")
    check_cost_model(type(create_model(name)), {"epochs": 10, "width": 16, "rate": 5e-3})


@pytest.mark.parametrize("loss", LOSSES)
def test_a_network_learns_from_every_loss_where_programs_have_several_rows(loss: str) -> None:
    """The cost of a program is in the sum of its rows, which a single row does not tell."""
    data, unseen = several_rows(seed=0), several_rows(seed=1)
    model = create_model("mlp", {"loss": loss, "epochs": 150, "width": 32, "rate": 5e-3})
    model.fit(data)
    chance = random_best_over_picked(unseen.programs).mean()
    assert best_over_picked(unseen.programs, model.predict(unseen)).mean() > (1 + chance) / 2


def several_rows(seed: int) -> LearningSet:
    """Twelve tasks of 32 programs with one to four rows of two numbers."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 5, 12 * 32)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = generator.uniform(0, 1, (starts[-1], 2)).astype(np.float32)
    costs = 1e-3 * np.exp(np.add.reduceat(rows[:, 0], starts[:-1]))
    described = tuple(LearningTask(f"task {index}") for index in range(12))
    programs = TaskCosts.of(costs, np.repeat(np.arange(12), 32))
    return LearningSet(("work", "noise"), rows, starts, programs, described)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("objective", ["regression", "cross_entropy", "lambdarank"])
def test_trees_find_fast_programs_of_unseen_tasks(name: str, objective: str) -> None:
    require(name)
    model = create_model(name, {"objective": objective, "rounds": 80})
    model.fit(easy_set())
    unseen = easy_set(seed=9)
    assert best_over_picked(unseen.programs, model.predict(unseen)).mean() > 0.8


class Forgets(Slowness):
    def load_parts(self, folder: Path) -> None:
        super().load_parts(folder)
        self.slope = -1.0 / self.slope


class Peeks(Slowness):
    def predict(self, data: LearningSet) -> Floats:
        return super().predict(data) * len(data)


class Guesses(Slowness):
    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        super().fit(data)
        self.slope = 1.0


class TakesAnything(Slowness):
    def load_parts(self, folder: Path) -> None:
        self.slope = -2.0


class Untold(Slowness):
    def predict(self, data: LearningSet) -> Floats:
        return -data.rows[:, 0].astype(np.float64)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Forgets, "scores otherwise than the saved one"),
        (Peeks, "depends on programs of other tasks"),
        (Guesses, "no better than chance"),
        (TakesAnything, "a loaded model scores otherwise|takes a damaged file"),
        (Untold, "before fit"),
    ],
)
def test_the_kit_finds_a_planted_defect(model: type[CostModel], why: str) -> None:
    with pytest.raises(ModelDefect, match=why):
        check_cost_model(model)


@pytest.mark.parametrize("name", TREES)
def test_a_saved_model_is_loaded_by_its_folder_alone(name: str, tmp_path: Path) -> None:
    require(name)
    model = create_model(name, {"rounds": 20}, seed=5)
    model.fit(easy_set())
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert (again.name, again.seed, again.settings) == (name, 5, model.settings)
    assert again.learned() == model.learned()
    np.testing.assert_allclose(again.predict(easy_set()), model.predict(easy_set()))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not a model"),
        ('{"name": "os.system"}', "model"),
        ("[]", "an object"),
    ],
)
def test_a_folder_that_is_no_model_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(LearnError, match=why):
        load_model(tmp_path)


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(LearnError, match="holds no model"):
        load_model(tmp_path)


def test_a_name_that_is_not_registered_is_never_imported(tmp_path: Path) -> None:
    model = Slowness()
    model.fit(easy_set())
    save_model(model, tmp_path / "model")
    with pytest.raises(LearnError, match="unknown cost model 'slowness'; known: lightgbm"):
        load_model(tmp_path / "model")


def test_every_registered_model_can_be_made() -> None:
    for name in model_names():
        assert create_model(name).name == name


def test_an_option_has_its_type_and_its_bounds() -> None:
    for options in ({"rounds": 0}, {"rounds": "many"}, {"objective": "magic"}, {"depth": 3}):
        with pytest.raises(LearnError, match="lightgbm"):
            create_model("lightgbm", options)


def test_a_model_says_what_it_never_saw() -> None:
    data = easy_set()
    domain = Domain.of(data)
    assert domain.objections(easy_set(seed=4)) == []
    elsewhere = replace(
        data,
        rows=data.rows * 3,
        tasks=tuple(LearningTask("t", "conv2d", "there") for _ in data.tasks),
    )
    kinds, platforms, values = domain.objections(elsewhere)
    assert kinds == "operators never seen in training: conv2d"
    assert platforms == "platforms never seen in training: there"
    assert "of programs beyond the values learned from (slow, middle, idle …)" in values


def test_other_features_are_an_error_not_a_guess() -> None:
    data = easy_set()
    with pytest.raises(LearnError, match=r"learned from 4 features .* asked about 4 features"):
        Domain.of(data).objections(replace(data, columns=("a", "b", "c", "d")))


def test_several_rows_become_their_sum_and_their_greatest() -> None:
    rows = np.array([[1.0], [2.0], [5.0]], np.float32)
    costs = TaskCosts.of([1.0, 1.0], [0, 0])
    data = LearningSet(("n",), rows, np.array([0, 2, 3]), costs, (LearningTask("t"),))
    assert pool_rows(data).tolist() == [[3.0, 2.0], [5.0, 5.0]]
