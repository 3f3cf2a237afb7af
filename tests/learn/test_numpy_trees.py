"""LightGBM's trees without LightGBM."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.learn.learning_set import LearnError
from graph_net.learn.numpy_trees import NumpyTrees
from graph_net.learn.tree_files import BadTrees

lightgbm = pytest.importorskip("lightgbm")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1 << 16), st.integers(2, 31), st.booleans())
def test_scores_are_those_of_lightgbm(seed: int, leaves: int, constant: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = (generator.integers(0, 5, (200, 6)) / 3).astype(np.float32)
    targets = np.ones(200) if constant else rows[:, 0] * rows[:, 1] - rows[:, 2]
    options = {"num_leaves": leaves, "min_data_in_leaf": 1, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(options, lightgbm.Dataset(rows, targets), 8)
    trees = NumpyTrees.read(booster.model_to_string())
    assert np.allclose(trees.predict(rows), booster.predict(rows), rtol=1e-12, atol=1e-12)


def test_rows_of_other_features_are_refused() -> None:
    booster = lightgbm.train(
        {"verbose": -1, "num_threads": 1}, lightgbm.Dataset(np.eye(4), np.arange(4)), 1
    )
    trees = NumpyTrees.read(booster.model_to_string())
    with pytest.raises(LearnError, match="trees of 4 features"):
        trees.predict(np.zeros((1, 5), np.float32))


def test_a_text_without_trees_is_refused() -> None:
    with pytest.raises(BadTrees):
        NumpyTrees.read("max_feature_idx=3\n")
