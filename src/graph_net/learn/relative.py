"""Boosted trees that rank a program by itself and by where it lies among the task's candidates.

The log labels of two models are averaged. One sees a program's features alone. The other also sees
how each differs from the median of the candidates of the same task that are asked about together
(``candidate_sets``), and has learned from all programs of each task and from subsets of them that
lean to slow ones, as the candidates of a search that has only begun do.

So a score depends on which candidates of a task are asked about together, not on other tasks. Ask
about the candidates one would choose from, all in one call. Where they are a whole space or drawn
from it at random, the differences carry little information (docs/learn.md). Searches, corrections
and ensembles use the first model alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Json, Option
from graph_net.learn.candidate_sets import beside_median, draw_subset, stack_sets
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import create_model
from graph_net.learn.scaled_members import ScaledMembers
from graph_net.learn.trees import CROSS_ENTROPY, RANKING, REGRESSION

ALONE, AMONG = "alone", "among"
"""Folders of the model of a program's own features, and of the one that sees its neighbours."""
OF_TREES = ("objective", "rounds", "rate", "leaves", "columns_of_tree", "threads")


class Relative(CostModel):
    """The mean of trees on a program's features and of trees on its place among the candidates."""

    name = "relative"
    ranks_together = True
    options: ClassVar[dict[str, Option]] = {
        "base": Option("lightgbm", ("lightgbm", "xgboost")),
        "objective": Option(CROSS_ENTROPY, (REGRESSION, CROSS_ENTROPY, RANKING)),
        "rounds": Option(300, least=1, most=100_000),
        "rate": Option(0.04, least=1e-4, most=1.0),
        "leaves": Option(31, least=2, most=4096),
        "columns_of_tree": Option(0.3, least=0.05, most=1.0),
        "subsets": Option(1, least=0, most=64),
        "threads": Option(0, least=0, most=1024),
    }
    """``subsets``: of each task, how many are learned from beside the whole of it."""

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        among_held = None if held_out is None else beside_median(held_out)
        self._alone = ScaledMembers.fit([self._create()], data, held_out)
        self._among = ScaledMembers.fit([self._create()], self._with_subsets(data), among_held)
        self.domain = Domain.of(data)

    def _with_subsets(self, data: LearningSet) -> LearningSet:
        generator = np.random.default_rng(self.seed)
        count = int(self.number("subsets"))
        parts = [data, *(draw_subset(data, generator) for _ in range(count))]
        return stack_sets([beside_median(part) for part in parts])

    def predict(self, data: LearningSet) -> Floats:
        """Return log labels; they depend on which programs of a task are in ``data``."""
        alone, (among,) = self.prior_scores(data), self._among.scores(beside_median(data))
        return np.asarray((alone + among) / 2, np.float64)

    def prior_scores(self, data: LearningSet) -> Floats:
        """Return the log labels from each program's own features, independent of the others."""
        self.learned().check_columns(data)
        return self._alone.scores(data)[0]

    def save_parts(self, folder: Path) -> None:
        self.learned()
        for name, members in ((ALONE, self._alone), (AMONG, self._among)):
            (folder / name).mkdir()
            members.save(folder / name)

    def load_parts(self, folder: Path) -> None:
        self._alone, self._among = (ScaledMembers.load(folder / name, 1) for name in (ALONE, AMONG))
        own, beside = (
            len(members.models[0].learned().columns) for members in (self._alone, self._among)
        )
        if beside not in (2 * own, 4 * own):  # of several rows, the sum and the greatest
            raise LearnError(
                f"{folder / AMONG} does not fit {folder / ALONE}: save the model again"
            )

    def _create(self) -> CostModel:
        options: dict[str, Json] = {key: self.settings[key] for key in OF_TREES}
        return create_model(str(self.settings["base"]), options, self.seed)
