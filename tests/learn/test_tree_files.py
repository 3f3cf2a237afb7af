"""A stranger's trees are read as data: what is no tree never reaches the library."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from graph_net.learn.cost_model import CostModel, save_model
from graph_net.learn.learning_set import LearnError
from graph_net.learn.model_registry import create_model, load_model
from graph_net.testing.cost_model import easy_set

PARTS = {"lightgbm": "trees.txt", "xgboost": "trees.json"}
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
ASKED = easy_set(seed=1)


def taught(name: str, objective: str = "regression") -> CostModel:
    pytest.importorskip(name, reason=f"needs {name}")
    model = create_model(name, {"objective": objective, "rounds": 12, "threads": 1})
    model.fit(easy_set())
    return model


@pytest.fixture(params=PARTS)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of a model's trees, in the folder of the model."""
    save_model(taught(request.param), tmp_path / "model")
    return tmp_path / "model" / PARTS[request.param]


@pytest.mark.parametrize("objective", ["regression", "cross_entropy", "lambdarank"])
@pytest.mark.parametrize("name", PARTS)
def test_trees_written_anew_score_as_they_did(name: str, objective: str, tmp_path: Path) -> None:
    model = taught(name, objective)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(ASKED), model.predict(ASKED), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("place", "instead"),
    [
        (r'(left_child(?:ren":\[|=))-?\d+', r"\g<1>999999"),
        (r'(left_child(?:ren":\[|=))-?\d+', r"\g<1>0"),
        (r'(right_child(?:ren":\[|=))-?\d+', r"\g<1>-99999"),
        (r'(split_(?:indices":\[|feature=))\d+', r"\g<1>99999"),
        (r'(max_feature_idx=|"num_feature":")\d+', r"\g<1>2000000000"),
        (r'(leaf_value=|base_weights":\[)[^ ,]+', r"\g<1>nan"),
        (r'(leaf_value=|base_weights":\[)[^ ,]+[ ,]', r"\g<1>"),
    ],
)
def test_what_is_no_tree_is_refused(saved: Path, place: str, instead: str) -> None:
    text = saved.read_text()
    spoilt = re.sub(place, instead, text)
    assert spoilt != text
    saved.write_text(spoilt)
    with pytest.raises(LearnError, match="is not a model of"):
        load_model(saved.parent)


def test_trees_that_end_early_are_refused(saved: Path) -> None:
    text = saved.read_text()
    last = text.rfind("\nTree=")  # a whole number of LightGBM's trees is left
    saved.write_text(text[:last] if last > 0 else text[: len(text) // 2])
    with pytest.raises(LearnError, match="is not a model of"):
        load_model(saved.parent)


def test_whatever_numbers_stand_there_nothing_dies(saved: Path) -> None:
    text, chance = saved.read_text(), random.Random(7)  # noqa: S311
    places = [match.span() for match in NUMBER.finditer(text)]
    for _ in range(200):
        start, end = chance.choice(places)
        other = chance.choice(["-1", "0", "1", "7", "99999999999", "1e308", "-0.5", ""])
        saved.write_text(text[:start] + other + text[end:])
        try:
            scores = load_model(saved.parent).predict(ASKED)
        except LearnError:
            continue
        assert scores.shape == (len(ASKED),)


def test_models_inside_models_without_end_are_refused(tmp_path: Path) -> None:
    taught("lightgbm")
    blend = create_model("blend", {"members": 1, "rounds": 2, "threads": 1})
    blend.fit(easy_set())
    save_model(blend, tmp_path / "model")
    member = tmp_path / "model" / "member-0"
    member.rename(tmp_path / "aside")
    member.symlink_to(tmp_path / "model")
    with pytest.raises(LearnError):
        load_model(tmp_path / "model")
