"""Programs ranked among the candidates of their task, which a score depends on."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from graph_net.compilers.option import Json
from graph_net.learn.cost_model import save_model
from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import best_over_picked
from graph_net.learn.model_registry import create_model, load_model, model_from_text
from graph_net.learn.relative import ALONE, AMONG, Relative
from graph_net.learn.scaled_members import PART
from graph_net.testing.cost_model import check_cost_model, easy_set

pytest.importorskip("lightgbm", reason="needs lightgbm")
QUICK: dict[str, Json] = {"rounds": 40, "threads": 1}


def shifted_set(seed: int, tasks: int = 12, programs: int = 48) -> LearningSet:
    """Return tasks where a number decides by its distance from what is usual in its task."""
    generator = np.random.default_rng(seed)
    usual = np.repeat(generator.uniform(-10, 10, tasks), programs)
    apart = generator.uniform(-1, 1, tasks * programs)
    columns = [usual + apart, generator.uniform(size=apart.size)]
    rows = np.stack(columns, axis=1, dtype=np.float32, casting="same_kind")
    described = [LearningTask(f"task {number}") for number in range(tasks)]
    return tabular_set(
        ["size", "noise"], rows, np.exp(apart), np.repeat(np.arange(tasks), programs), described
    )


@pytest.fixture(scope="module")
def model() -> Relative:
    """A model that learned the kit's tasks."""
    learned = Relative(QUICK)
    learned.fit(easy_set())
    return learned


@pytest.mark.parametrize("base", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("subsets", [0, 2])
def test_it_keeps_to_the_protocol(base: str, subsets: int) -> None:
    if importlib.util.find_spec(base) is None:
        pytest.skip(f"needs {base}")
    check_cost_model(Relative, {**QUICK, "base": base, "subsets": subsets})


@pytest.mark.parametrize("objective", ["regression", "cross_entropy", "lambdarank"])
def test_every_objective_finds_fast_programs_of_unseen_tasks(objective: str) -> None:
    model, unseen = Relative({**QUICK, "objective": objective}), easy_set(seed=9)
    model.fit(easy_set())
    assert best_over_picked(unseen.programs, model.predict(unseen)).mean() > 0.8


def test_it_ranks_by_distances_from_the_other_candidates() -> None:
    unseen, picked = shifted_set(seed=1), {}
    for name in ("relative[rounds=40]", "lightgbm[objective=cross_entropy,rounds=40]"):
        model = model_from_text(name)
        model.fit(shifted_set(seed=0))
        picked[name] = best_over_picked(unseen.programs, model.predict(unseen)).mean()
    relative, alone = picked.values()
    assert relative > alone + 0.05


def test_the_order_of_candidates_does_not_matter(model: Relative) -> None:
    asked = easy_set(seed=1)
    order = np.random.default_rng(0).permutation(len(asked))
    np.testing.assert_allclose(model.predict(asked.take(order)), model.predict(asked)[order])


def test_the_other_candidates_of_the_task_matter(model: Relative) -> None:
    """A subset has another median; the score that corrections build on stays as it is."""
    asked = easy_set(seed=1, tasks=1)
    slow = np.argsort(np.where(np.isfinite(asked.programs.costs), -asked.programs.costs, 0))[:12]
    few = asked.take(slow)
    assert not np.allclose(model.predict(few), model.predict(asked)[slow])
    np.testing.assert_allclose(model.prior_scores(few), model.prior_scores(asked)[slow])


def test_a_candidate_alone_gets_a_score(model: Relative) -> None:
    one = easy_set(seed=1, tasks=1).take(np.array([0]))
    assert np.isfinite(model.predict(one)).all()


def test_it_learns_from_tasks_with_one_candidate() -> None:
    data = easy_set()
    firsts = np.flatnonzero(np.diff(data.programs.tasks, prepend=-1))
    ran = firsts[np.isfinite(data.programs.costs[firsts])]
    model = Relative(QUICK)
    model.fit(data.take(ran))
    assert np.isfinite(model.predict(easy_set(seed=1))).all()


def test_a_loaded_model_scores_as_the_saved_one(model: Relative, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.settings == model.settings
    np.testing.assert_array_equal(again.predict(easy_set(seed=1)), model.predict(easy_set(seed=1)))


def test_held_out_tasks_may_stop_it_early(tmp_path: Path) -> None:
    trees = []
    for held_out in (None, easy_set(seed=2)):
        model = Relative({**QUICK, "rounds": 400, "rate": 0.3})
        model.fit(easy_set(), held_out)
        save_model(model, tmp_path / f"model-{held_out is None}")
        texts = sorted((tmp_path / f"model-{held_out is None}").rglob("trees.txt"))
        trees.append([text.read_text().count("Tree=") for text in texts])
    assert trees[0] == [400, 400]
    assert max(trees[1]) < 400


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (PART, "{}", "members"),
        (PART, json.dumps({"members": []}), "is not of 1 members"),
        ("member-0/model.json", "{", "model"),
        ("member-0/trees.txt", "tree\n", "is not a model of lightgbm"),
    ],
)
def test_a_damaged_file_is_named(
    model: Relative, tmp_path: Path, path: str, text: str, why: str
) -> None:
    save_model(model, tmp_path / "model")
    (tmp_path / "model" / AMONG / path).write_text(text)
    with pytest.raises(LearnError, match=why) as raised:
        load_model(tmp_path / "model")
    assert AMONG in str(raised.value)


def test_a_missing_part_is_named(model: Relative, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    (tmp_path / "model" / AMONG).rename(tmp_path / "elsewhere")
    with pytest.raises(LearnError, match=AMONG):
        load_model(tmp_path / "model")


def test_parts_of_another_model_are_refused(model: Relative, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    shutil.copytree(tmp_path / "model" / ALONE, tmp_path / "model" / AMONG, dirs_exist_ok=True)
    with pytest.raises(LearnError, match="does not fit"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("residual", {"prior": "relative", "prior_options": QUICK}),
        ("residual", {"prior": "lightgbm", "prior_options": QUICK, "base": "relative"}),
        ("ensemble", {"base": "relative", "base_options": QUICK, "members": 2, "folds": 2}),
    ],
)
def test_models_of_models_score_a_program_whatever_the_others(
    name: str, options: dict[str, Json]
) -> None:
    model, asked = create_model(name, options), easy_set(seed=1)
    model.fit(easy_set())
    np.testing.assert_allclose(
        model.predict(asked.take(np.arange(20))), model.predict(asked)[:20], rtol=1e-6
    )
