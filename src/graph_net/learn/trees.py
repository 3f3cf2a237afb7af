"""Boosted trees: LightGBM and XGBoost, as regression of the log label or as LambdaRank by task.

The honest baselines of this field: minutes of one core, no GPU. A program of several rows is given
to them as the sum and the greatest of each column.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from graph_net.compilers.option import Option
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.learning_set import Features, LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.store.files import read_text

REGRESSION, RANKING = "regression", "lambdarank"
LEAST_LABEL = 1e-3
"""Programs slower than this part of the best, and those that failed, are all equally bad."""
LEVELS = 31
"""Grades of a ranking, from labels: LightGBM and XGBoost rank whole numbers."""
LARGEST_GROUP = 10_000
"""Programs of a task that LightGBM ranks together; a larger task is cut into random groups."""
MOST_BYTES = 1 << 30
SMALL = 1 << 22
"""Numbers for which threads cost more than they save."""


class _Trees(CostModel):
    """What the two libraries have in common."""

    options: ClassVar[dict[str, Option]] = {
        "objective": Option(REGRESSION, (REGRESSION, RANKING)),
        "rounds": Option(600, least=1, most=100_000),
        "rate": Option(0.05, least=1e-4, most=1.0),
        "leaves": Option(63, least=2, most=4096),
        "least_in_leaf": Option(20, least=1),
        "rows_of_round": Option(0.8, least=0.05, most=1.0),
        "columns_of_tree": Option(0.8, least=0.05, most=1.0),
        "threads": Option(0, least=0, most=1024),
    }
    part: ClassVar[str]

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        groups = _groups(data, self.seed)
        order = np.concatenate(groups)
        self._train(pool_rows(data)[order], _targets(data, self.is_ranking)[order], groups)
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        self.learned().check_columns(data)
        return np.asarray(self._scores(pool_rows(data)), np.float64)

    @property
    def is_ranking(self) -> bool:
        """Whether it learns the order of a task's programs, not their labels."""
        return self.settings["objective"] == RANKING

    def save_parts(self, folder: Path) -> None:
        self.learned()
        (folder / self.part).write_text(self._text(), "utf-8")

    def load_parts(self, folder: Path) -> None:
        try:
            self._read(read_text(folder / self.part, MOST_BYTES))
        except OSError as error:
            raise LearnError(f"{folder} has no {self.part}") from error
        except Exception as error:  # each library has its own
            raise LearnError(f"{folder / self.part} is not a model of {self.name}") from error

    def _threads(self, rows: Features) -> int:
        """Return how many threads to use; 0 is one per core."""
        chosen = self.settings["threads"]
        assert isinstance(chosen, int)
        return chosen or (1 if rows.size < SMALL else 0)

    def _library(self) -> Any:
        try:
            return importlib.import_module(self.name)
        except ImportError as error:
            raise LearnError(f"{self.name} is not installed: pip install {self.needs}") from error

    @abstractmethod
    def _train(self, rows: Features, targets: Floats, groups: list[Ints]) -> None: ...

    @abstractmethod
    def _scores(self, rows: Features) -> Any: ...

    @abstractmethod
    def _text(self) -> str: ...

    @abstractmethod
    def _read(self, text: str) -> None: ...


class LightGbm(_Trees):
    """LightGBM."""

    name = needs = "lightgbm"
    part = "trees.txt"
    _booster: Any = None

    def _train(self, rows: Features, targets: Floats, groups: list[Ints]) -> None:
        library = self._library()
        settings = {
            "objective": self.settings["objective"],
            "learning_rate": self.settings["rate"],
            "num_leaves": self.settings["leaves"],
            "min_data_in_leaf": self.settings["least_in_leaf"],
            "bagging_fraction": self.settings["rows_of_round"],
            "bagging_freq": 1,
            "feature_fraction": self.settings["columns_of_tree"],
            "num_threads": self._threads(rows),
            "deterministic": True,
            "force_row_wise": True,
            "seed": self.seed,
            "verbose": -1,
        }
        if self.is_ranking:
            settings |= {
                "label_gain": [grade**2 for grade in range(LEVELS)],
                "lambdarank_truncation_level": LEVELS,
            }
        sizes = [group.size for group in groups] if self.is_ranking else None
        data = library.Dataset(rows, targets, group=sizes)
        self._booster = library.train(settings, data, self.settings["rounds"])

    def _scores(self, rows: Features) -> Any:
        return self._booster.predict(rows, num_threads=self._threads(rows))

    def _text(self) -> str:
        return str(self._booster.model_to_string())

    def _read(self, text: str) -> None:
        self._booster = self._library().Booster(model_str=text)


class XgBoost(_Trees):
    """XGBoost."""

    name = "xgboost"
    needs = "xgboost"
    part = "trees.json"
    _booster: Any = None

    def _train(self, rows: Features, targets: Floats, groups: list[Ints]) -> None:
        library = self._library()
        settings = {
            "objective": "rank:ndcg" if self.is_ranking else "reg:squarederror",
            "eta": self.settings["rate"],
            "max_leaves": self.settings["leaves"],
            "max_depth": 0,
            "grow_policy": "lossguide",
            "tree_method": "hist",
            "min_child_weight": self.settings["least_in_leaf"] if not self.is_ranking else 1e-3,
            "subsample": self.settings["rows_of_round"],
            "colsample_bytree": self.settings["columns_of_tree"],
            "nthread": self._threads(rows),
            "seed": self.seed,
            "verbosity": 0,
        }
        data = library.DMatrix(rows, targets, nthread=self._threads(rows))
        if self.is_ranking:
            data.set_group([group.size for group in groups])
        self._booster = library.train(settings, data, self.settings["rounds"])

    def _scores(self, rows: Features) -> Any:
        self._booster.set_param({"nthread": self._threads(rows)})
        return self._booster.predict(self._library().DMatrix(rows, nthread=self._threads(rows)))

    def _text(self) -> str:
        return bytes(self._booster.save_raw("json")).decode()

    def _read(self, text: str) -> None:
        self._booster = self._library().Booster(model_file=bytearray(text.encode()))


def pool_rows(data: LearningSet) -> Features:
    """Return one row for each program: its own, or the sum and the greatest of its several."""
    if data.is_tabular:
        return data.rows
    sums = np.add.reduceat(data.rows, data.starts[:-1])
    return np.hstack([sums, np.maximum.reduceat(data.rows, data.starts[:-1])])


def _targets(data: LearningSet, is_ranking: bool) -> Floats:
    labels = np.maximum(data.programs.labels, LEAST_LABEL)
    if is_ranking:
        return np.floor(labels * (LEVELS - 1) + 0.5)
    return np.log(labels)


def _groups(data: LearningSet, seed: int) -> list[Ints]:
    """Return the programs of each task, large tasks in several groups."""
    generator = np.random.default_rng(seed)
    groups: list[Ints] = []
    for rows in data.programs.rows():
        parts = -(-rows.size // LARGEST_GROUP)
        groups += [rows] if parts == 1 else np.array_split(generator.permutation(rows), parts)
    return groups
