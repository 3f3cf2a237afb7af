"""A mixture of trees and networks is their mean on one scale, and a model like any other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graph_net.compilers.option import Json
from graph_net.learn.cost_model import save_model
from graph_net.learn.learning_set import LearnError
from graph_net.learn.mixture import Mixture
from graph_net.learn.model_registry import create_model, load_model
from graph_net.learn.scaled_members import PART
from graph_net.learn.score_scale import ScoreScale
from graph_net.testing.cost_model import check_cost_model, easy_set

pytest.importorskip("lightgbm", reason="needs lightgbm")
QUICK = {"networks": 2, "epochs": 8, "width": 16, "rounds": 40}


def test_it_keeps_to_the_protocol() -> None:
    check_cost_model(Mixture, QUICK)


def test_its_score_is_the_sum_of_both_on_one_scale() -> None:
    data, asked = easy_set(), easy_set(seed=1)
    mixture = Mixture({**QUICK, "folds": 0, "share": 0.25}, seed=1)
    mixture.fit(data)
    network: dict[str, Json] = {"loss": "listmle", "epochs": 8, "width": 16}
    members = [
        create_model("blend", {"members": 1, "rounds": 40}, 1),
        *(create_model("mlp", network, seed) for seed in (2, 3)),
    ]
    scaled = []
    for member in members:
        member.fit(data)
        scaled.append(ScoreScale.fit(member.predict(data), data).apply(member.predict(asked)))
    wanted = 0.75 * scaled[0] + 0.25 * (scaled[1] + scaled[2]) / 2
    np.testing.assert_allclose(mixture.predict(asked), wanted, rtol=1e-5)


def test_networks_that_learn_nothing_get_no_share() -> None:
    mixture = Mixture({**QUICK, "epochs": 1, "width": 8})
    mixture.fit(easy_set())
    assert mixture.share == 0


def test_scales_of_another_number_of_members_are_refused(tmp_path: Path) -> None:
    mixture = Mixture(QUICK)
    mixture.fit(easy_set())
    save_model(mixture, tmp_path / "model")
    scales = json.loads((tmp_path / "model" / PART).read_text())
    (tmp_path / "model" / PART).write_text(json.dumps({**scales, "members": scales["members"][1:]}))
    with pytest.raises(LearnError, match="is not of 3 members"):
        load_model(tmp_path / "model")
