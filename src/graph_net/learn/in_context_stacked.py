"""The in-context ranker with LightGBM's score as an additional feature.

The score of a training program comes from trees that never saw its task (folds by task), so that
its errors are like those in a new task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Option
from graph_net.learn.cost_model import CostModel, Domain, read_header, save_model
from graph_net.learn.in_context import PRIOR, InContext
from graph_net.learn.in_context_episodes import join_by_dialect
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.trees import LightGbm

TREES, RANKER = "trees", "ranker"


def with_prior(data: LearningSet, scores: Floats) -> LearningSet:
    """Return the set with another model's scores as an additional column of each row."""
    column = scores.astype(np.float32)[data.owners][:, None]
    return replace(data, columns=(*data.columns, PRIOR), rows=np.hstack([data.rows, column]))


def out_of_fold_scores(data: LearningSet, rounds: int, folds: int, seed: int) -> Floats:
    """Return LightGBM's score of each program, by trees that learned from other tasks.

    Tasks of one name, such as the same task on two platforms, are in the same fold.
    """
    names, which = np.unique([task.name for task in data.tasks], return_inverse=True)
    if names.size < 2:
        raise LearnError("trees that score one task learn from others: give at least two tasks")
    fold = (np.random.default_rng(seed).permutation(names.size) % folds)[which]
    scores = np.zeros(len(data))
    for index in np.unique(fold):
        trees = LightGbm({"rounds": rounds}, seed)
        trees.fit(data.select(np.flatnonzero(fold != index).tolist()))
        inside = np.flatnonzero(fold[data.programs.tasks] == index)
        scores[inside] = trees.predict(data.take(inside))
    return scores


class StackedInContext(CostModel):
    """The in-context ranker with the score of trees as a feature; both learn from the same set."""

    name = "in_context_stacked"
    needs = "lightgbm"
    options: ClassVar[dict[str, Option]] = {
        **InContext.options,
        "folds": Option(5, least=2, most=100),
        "rounds": Option(600, least=1, most=100_000),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        self.fit_sets([data])

    def fit_sets(self, sets: Sequence[LearningSet]) -> None:
        """Train on sets of one dialect or several; the domain is that of the first dialect."""
        joined = join_by_dialect(sets)
        rounds, folds = self._whole("rounds"), self._whole("folds")
        self._trees = []
        for data in joined:
            trees = LightGbm({"rounds": rounds}, self.seed)
            trees.fit(data)
            self._trees.append(trees)
        self._ranker = self._make_ranker()
        self._ranker.fit_sets(
            [
                with_prior(data, out_of_fold_scores(data, rounds, folds, self.seed))
                for data in joined
            ]
        )
        self.domain = Domain.of(joined[0])

    def assemble(self, trees: Sequence[LightGbm], ranker: InContext) -> None:
        """Use parts that were trained elsewhere, such as the ranker on a GPU."""
        self._trees, self._ranker = list(trees), ranker
        self.domain = trees[0].learned()

    def predict(self, data: LearningSet) -> Floats:
        return self.predict_given(data, np.zeros(0, np.int64))

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return scores of all programs; only the costs of ``measured`` are read."""
        domain = self.learned()
        for trees in self._trees:
            if trees.learned().columns == data.columns:
                return self._ranker.predict_given(with_prior(data, trees.predict(data)), measured)
        domain.check_columns(data)
        raise AssertionError("unreachable")

    def save_parts(self, folder: Path) -> None:
        self.learned()
        save_model(self._ranker, folder / RANKER)
        for index, trees in enumerate(self._trees):
            save_model(trees, folder / f"{TREES}-{index}")

    def load_parts(self, folder: Path) -> None:
        self._ranker = self._make_ranker()
        self._ranker.load_parts(folder / RANKER)
        self._ranker.domain = read_header(folder / RANKER).domain
        self._trees = [_load_trees(part) for part in sorted(folder.glob(f"{TREES}-*"))]
        if not self._trees:
            raise LearnError(f"{folder} has no trees")

    def _make_ranker(self) -> InContext:
        options = {name: self.settings[name] for name in InContext.options}
        return InContext(options, self.seed)

    def _whole(self, key: str) -> int:
        value = self.settings[key]
        assert isinstance(value, int)
        return value


def _load_trees(folder: Path) -> LightGbm:
    trees = LightGbm()
    trees.load_parts(folder)
    trees.domain = read_header(folder).domain
    return trees
