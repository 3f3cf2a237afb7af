"""Networks as cost models: what they do with features unlike those they learned from."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from graph_net.learn.metrics import best_over_picked
from graph_net.learn.model_registry import create_model
from graph_net.testing.cost_model import easy_set

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("safetensors") is None, reason="needs safetensors"
)
FEW = {"epochs": 10, "width": 16, "rate": 5e-3}


def test_a_feature_that_never_varied_changes_little_when_it_does() -> None:
    data = easy_set()
    rows = data.rows.copy()
    rows[:, 3] = 7.0
    model = create_model("mlp", FEW)
    model.fit(replace(data, rows=rows))
    unseen = easy_set(seed=1)
    picked = best_over_picked(unseen.programs, model.predict(unseen))
    assert picked.mean() > 0.7


def test_a_feature_far_outside_has_a_bounded_effect() -> None:
    model = create_model("mlp", FEW)
    model.fit(easy_set())
    data = easy_set(seed=1)
    far, farther = (replace(data, rows=data.rows + np.float32(by)) for by in (1e3, 1e6))
    np.testing.assert_allclose(model.predict(far), model.predict(farther))


def test_large_features_are_learned_from_as_well_as_small_ones() -> None:
    data, unseen = easy_set(), easy_set(seed=1)
    large = [replace(each, rows=each.rows * 1e6 + 1e7) for each in (data, unseen)]
    model = create_model("mlp", FEW)
    model.fit(large[0])
    assert best_over_picked(unseen.programs, model.predict(large[1])).mean() > 0.7
