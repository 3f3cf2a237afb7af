"""LightGBM on one-hot settings of tensors, averaged over a few seeds."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats
from graph_net.learn.tree_files import rewrite_lightgbm

ROUNDS, MEMBERS = 400, 3
SETTINGS = {
    "objective": "regression",
    "learning_rate": 0.04,
    "num_leaves": 15,
    "min_data_in_leaf": 3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.4,
    "feature_pre_filter": False,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class SettingTrees:
    """Boosters, and the setting of each of their columns."""

    pairs: NDArray[np.int32]
    """(column of codes, value) of each feature."""
    boosters: tuple[Any, ...]

    @staticmethod
    def fit(codes: Codes, values: Floats, weights: Floats, seed: int = 0) -> SettingTrees:
        """Fit to configurations and their values."""
        library = _lightgbm()
        pairs = np.array(
            [
                (column, value)
                for column in range(codes.shape[1])
                for value in np.unique(codes[:, column]).tolist()
            ],
            np.int32,
        ).reshape(-1, 2)
        rows = _indicators(codes, pairs)
        data = library.Dataset(rows, values, weight=weights, params=SETTINGS, free_raw_data=False)
        boosters = [
            library.train(SETTINGS | {"seed": MEMBERS * seed + member}, data, ROUNDS)
            for member in range(MEMBERS)
        ]
        return SettingTrees(pairs, tuple(boosters))

    def predict(self, codes: Codes) -> Floats:
        """Return the mean over the boosters."""
        rows = _indicators(codes, self.pairs)
        scores = [booster.predict(rows, num_threads=1) for booster in self.boosters]
        return np.asarray(np.mean(scores, axis=0), np.float64)

    def texts(self) -> list[str]:
        """Return the boosters as LightGBM writes them."""
        return [str(booster.model_to_string()) for booster in self.boosters]

    @staticmethod
    def read(pairs: NDArray[np.int32], texts: list[str]) -> SettingTrees:
        """Return the trees of ``texts``; every tree is validated before LightGBM reads it."""
        library = _lightgbm()
        checked = [rewrite_lightgbm(text, "regression") for text in texts]
        boosters = tuple(library.Booster(model_str=text) for text in checked)
        if any(booster.num_feature() != max(1, len(pairs)) for booster in boosters):
            raise LearnError("trees of other settings than are named beside them")
        return SettingTrees(pairs, boosters)


def _indicators(codes: Codes, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
    rows = codes[:, pairs[:, 0]] == pairs[:, 1]
    if not rows.shape[1]:
        rows = np.zeros((len(codes), 1), bool)
    return np.asarray(rows, np.float32)


def _lightgbm() -> Any:
    try:
        return importlib.import_module("lightgbm")
    except ImportError as error:
        raise LearnError("lightgbm is not installed: pip install lightgbm") from error
