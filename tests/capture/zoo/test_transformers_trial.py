"""Inputs of a model tried under fake tensors."""

from __future__ import annotations

import torch
from torch import nn

from graph_net.capture.weights import without_weights
from graph_net.capture.zoo.transformers_trial import FakeCall


def test_a_trial_leaves_the_model_what_its_initialisers_wrote() -> None:
    with without_weights() as watch:
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        before = watch.recipes(model)
        trial = FakeCall(model)
        assert trial.call(model, {"input": torch.zeros(2, 3)}).shape == (2, 4)
        assert not trial.runs({"input": torch.zeros(2, 5)})
        after = watch.recipes(model)
    assert {"0.weight", "0.bias", "1.weight"} <= before.keys()
    assert after == before
