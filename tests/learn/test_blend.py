"""A blend of objectives is their mean, and a model like any other."""

from __future__ import annotations

import numpy as np
import pytest

from graph_net.learn.blend import OBJECTIVES, Blend
from graph_net.learn.model_registry import create_model
from graph_net.learn.score_scale import ScoreScale
from graph_net.testing.cost_model import check_cost_model, easy_set


@pytest.mark.parametrize("base", ["lightgbm", "xgboost"])
def test_it_keeps_to_the_protocol(base: str) -> None:
    pytest.importorskip(base, reason=f"needs {base}")
    check_cost_model(Blend, {"base": base, "members": 1, "rounds": 40})


def test_its_scores_are_the_mean_of_log_labels_by_all_objectives() -> None:
    pytest.importorskip("lightgbm", reason="needs lightgbm")
    data, asked = easy_set(), easy_set(seed=1)
    blend = Blend({"members": 2, "rounds": 30}, seed=1)
    blend.fit(data)
    scores = []
    for seed in (2, 3):
        for objective in OBJECTIVES:
            model = create_model("lightgbm", {"objective": objective, "rounds": 30}, seed)
            model.fit(data)
            scores.append(ScoreScale.fit(model.predict(data), data).apply(model.predict(asked)))
    np.testing.assert_allclose(blend.predict(asked), np.mean(scores, axis=0))
