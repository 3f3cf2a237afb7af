"""The mean of boosted trees that learn the log label, the label itself, and the order in a task.

The log label weighs all programs of a task equally; cross-entropy of the label favours the fast
ones; LambdaRank favours the order at the top. They err in different tasks, and their mean varies
less between seeds (docs/learn.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Json, Option
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import create_model
from graph_net.learn.scaled_members import ScaledMembers
from graph_net.learn.trees import CROSS_ENTROPY, RANKING, REGRESSION

OBJECTIVES = (REGRESSION, CROSS_ENTROPY, RANKING)


class Blend(CostModel):
    """``members`` models of each objective; their scores, as log labels, are averaged."""

    name = "blend"
    options: ClassVar[dict[str, Option]] = {
        "base": Option("lightgbm", ("lightgbm", "xgboost")),
        "members": Option(3, least=1, most=64),
        "rounds": Option(600, least=1, most=100_000),
        "threads": Option(0, least=0, most=1024),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        models = (self._create(index) for index in range(self._count))
        self._members = ScaledMembers.fit(models, data, held_out)
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        """Return log labels."""
        self.learned().check_columns(data)
        return np.asarray(np.mean(self._members.scores(data), axis=0), np.float64)

    def save_parts(self, folder: Path) -> None:
        self.learned()
        self._members.save(folder)

    def load_parts(self, folder: Path) -> None:
        self._members = ScaledMembers.load(folder, self._count)

    @property
    def _count(self) -> int:
        return int(self.number("members")) * len(OBJECTIVES)

    def _create(self, index: int) -> CostModel:
        turn, place = divmod(index, len(OBJECTIVES))
        options: dict[str, Json] = {"objective": OBJECTIVES[place]}
        options |= {key: self.settings[key] for key in ("rounds", "threads")}
        seed = self.seed * int(self.number("members")) + turn
        return create_model(str(self.settings["base"]), options, seed)
