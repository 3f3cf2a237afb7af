"""Boosted trees: LightGBM and XGBoost, on the log label, on the label, or as LambdaRank by task.

The honest baselines of this field: minutes on one core, no GPU. A program of several rows is given
to them as the sum and the maximum of each column.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from graph_net.compilers.option import Option
from graph_net.learn.cost_levels import normal_scores
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.learning_set import Features, LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.score_scale import LEAST_LABEL, log_labels
from graph_net.learn.tree_files import rewrite_lightgbm, rewrite_xgboost
from graph_net.store.files import read_text

REGRESSION, CROSS_ENTROPY, RANKING = "regression", "cross_entropy", "lambdarank"
"""Least squares of the log label, cross-entropy of the label, the order within a task."""
IN_XGBOOST = {
    REGRESSION: "reg:squarederror",
    CROSS_ENTROPY: "reg:logistic",
    RANKING: "rank:ndcg",
}
LEVELS = 31
"""Grades of a ranking, from labels: LightGBM and XGBoost rank integers."""
LARGEST_GROUP = 10_000
"""Most programs that LightGBM ranks together; a larger task is cut into random groups."""
LEAST_WEIGHT = 0.1
LEAST_SCORE = 1e-9
"""Predicted labels are clipped to at least this."""
PATIENCE = 50
"""Rounds without improvement on held-out tasks after which training stops."""
MOST_BYTES = 1 << 30
SMALL = 1 << 22
"""Numbers up to which threads cost more than they save."""


@dataclass(frozen=True)
class _Table:
    """Input of the libraries: one row per program, the programs of a group together."""

    rows: Features
    targets: Floats
    weights: Floats | None
    groups: list[int] | None
    """Sizes of groups, if they are ranked."""


class _Trees(CostModel):
    """What the two libraries share."""

    options: ClassVar[dict[str, Option]] = {
        "objective": Option(REGRESSION, (REGRESSION, CROSS_ENTROPY, RANKING)),
        "targets": Option("labels", ("labels", "ranks")),
        "rounds": Option(600, least=1, most=100_000),
        "rate": Option(0.05, least=1e-4, most=1.0),
        "leaves": Option(63, least=2, most=4096),
        "least_in_leaf": Option(20, least=1),
        "rows_of_round": Option(0.8, least=0.05, most=1.0),
        "columns_of_tree": Option(0.8, least=0.05, most=1.0),
        "weight_best": Option(0.0, least=0.0, most=16.0),
        "threads": Option(0, least=0, most=1024),
    }
    """``weight_best``: in a regression a program has weight label ** weight_best + 0.1; 0 weighs
    all equally. ``targets``: a regression learns the log label, or the rank within a task.
    """
    part: ClassVar[str]

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Train for ``rounds``; with ``held_out``, stop early when it no longer improves."""
        seen = None if held_out is None else self._table(held_out)
        self._train(self._table(data), seen)
        self.domain = Domain.of(data)

    def _table(self, data: LearningSet) -> _Table:
        groups = _groups(data, self.seed)
        order = np.concatenate(groups)
        rows, labels = pool_rows(data)[order], data.programs.labels[order]
        if self.is_ranking:
            return _Table(rows, _grades(labels), None, [group.size for group in groups])
        power = self.number("weight_best")
        weights = np.maximum(labels, LEAST_LABEL) ** power + LEAST_WEIGHT if power else None
        if self.settings["targets"] == "ranks" and not self._learns_labels:
            targets = np.concatenate([-normal_scores(data.programs.costs[rows]) for rows in groups])
        else:
            targets = labels if self._learns_labels else log_labels(data)[order]
        return _Table(rows, targets, weights, None)

    def predict(self, data: LearningSet) -> Floats:
        self.learned().check_columns(data)
        rows = pool_rows(data)
        if rows.shape[1] != self._width():
            raise LearnError(f"trees of {self._width()} features, not {rows.shape[1]}: learn anew")
        scores = np.asarray(self._scores(rows), np.float64)
        return np.log(np.maximum(scores, LEAST_SCORE)) if self._learns_labels else scores

    @property
    def is_ranking(self) -> bool:
        """Whether the order of a task's programs is learned, not their labels."""
        return self.settings["objective"] == RANKING

    @property
    def _learns_labels(self) -> bool:
        return self.settings["objective"] == CROSS_ENTROPY

    def save_parts(self, folder: Path) -> None:
        self.learned()
        (folder / self.part).write_text(self._text(), "utf-8")

    def load_parts(self, folder: Path) -> None:
        try:
            self._read(read_text(folder / self.part, MOST_BYTES))
        except OSError as error:
            raise LearnError(f"{folder} has no {self.part}") from error
        except Exception as error:  # ours, and each library's own
            why = f"{folder / self.part} is not a model of {self.name}"
            raise LearnError(f"{why}: {error}") from error

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
    def _train(self, table: _Table, held_out: _Table | None) -> None: ...

    @abstractmethod
    def _scores(self, rows: Features) -> Any: ...

    @abstractmethod
    def _text(self) -> str: ...

    @abstractmethod
    def _read(self, text: str) -> None: ...

    @abstractmethod
    def _width(self) -> int:
        """Return how many features the trees use."""


class LightGbm(_Trees):
    """LightGBM."""

    name = needs = "lightgbm"
    part = "trees.txt"
    _booster: Any = None

    def _train(self, table: _Table, held_out: _Table | None) -> None:
        library = self._library()
        settings = {
            "objective": self.settings["objective"],
            "learning_rate": self.settings["rate"],
            "num_leaves": self.settings["leaves"],
            "min_data_in_leaf": self.settings["least_in_leaf"],
            "bagging_fraction": self.settings["rows_of_round"],
            "bagging_freq": 1,
            "feature_fraction": self.settings["columns_of_tree"],
            "num_threads": self._threads(table.rows),
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
        if held_out is not None:
            settings |= {"early_stopping_round": PATIENCE}
        data, *seen = (
            library.Dataset(given.rows, given.targets, weight=given.weights, group=given.groups)
            for given in (table, held_out)
            if given is not None
        )
        self._booster = library.train(settings, data, self.settings["rounds"], valid_sets=seen)

    def text(self) -> str:
        """Return the trees in LightGBM's text, as stored in a saved model."""
        self.learned()
        return self._text()

    def _scores(self, rows: Features) -> Any:
        return self._booster.predict(rows, num_threads=self._threads(rows))

    def _text(self) -> str:
        return str(self._booster.model_to_string())

    def _read(self, text: str) -> None:
        checked = rewrite_lightgbm(text, str(self.settings["objective"]))
        self._booster = self._library().Booster(model_str=checked)

    def _width(self) -> int:
        return int(self._booster.num_feature())


class XgBoost(_Trees):
    """XGBoost."""

    name = "xgboost"
    needs = "xgboost"
    part = "trees.json"
    _booster: Any = None

    def _train(self, table: _Table, held_out: _Table | None) -> None:
        library = self._library()
        settings = {
            "objective": IN_XGBOOST[str(self.settings["objective"])],
            "eta": self.settings["rate"],
            "max_leaves": self.settings["leaves"],
            "max_depth": 0,
            "grow_policy": "lossguide",
            "tree_method": "hist",
            "min_child_weight": self.settings["least_in_leaf"] if not self.is_ranking else 1e-3,
            "subsample": self.settings["rows_of_round"],
            "colsample_bytree": self.settings["columns_of_tree"],
            "nthread": self._threads(table.rows),
            "seed": self.seed,
            "verbosity": 0,
        }
        rounds = self.settings["rounds"]
        if held_out is None:
            self._booster = library.train(settings, self._matrix(table), rounds)
            return
        trained = library.train(
            settings,
            self._matrix(table),
            rounds,
            evals=[(self._matrix(held_out), "held_out")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        self._booster = trained[: trained.best_iteration + 1]

    def _matrix(self, table: _Table) -> Any:
        matrix = self._library().DMatrix(
            table.rows, table.targets, weight=table.weights, nthread=self._threads(table.rows)
        )
        if table.groups:
            matrix.set_group(table.groups)
        return matrix

    def _scores(self, rows: Features) -> Any:
        self._booster.set_param({"nthread": self._threads(rows)})
        return self._booster.predict(self._library().DMatrix(rows, nthread=self._threads(rows)))

    def _text(self) -> str:
        return bytes(self._booster.save_raw("json")).decode()

    def _read(self, text: str) -> None:
        checked = rewrite_xgboost(text, IN_XGBOOST[str(self.settings["objective"])])
        self._booster = self._library().Booster(model_file=bytearray(checked.encode()))

    def _width(self) -> int:
        return int(self._booster.num_features())


def pool_rows(data: LearningSet) -> Features:
    """Return one row per program: its own, or the sum and the maximum of its rows."""
    if data.is_tabular:
        return data.rows
    sums = np.add.reduceat(data.rows, data.starts[:-1])
    return np.hstack([sums, np.maximum.reduceat(data.rows, data.starts[:-1])])


def _grades(labels: Floats) -> Floats:
    return np.floor(np.maximum(labels, LEAST_LABEL) * (LEVELS - 1) + 0.5)


def _groups(data: LearningSet, seed: int) -> list[Ints]:
    """Return the programs of each task; large tasks in several groups."""
    generator = np.random.default_rng(seed)
    groups: list[Ints] = []
    for rows in data.programs.rows():
        parts = -(-rows.size // LARGEST_GROUP)
        groups += [rows] if parts == 1 else np.array_split(generator.permutation(rows), parts)
    return groups
