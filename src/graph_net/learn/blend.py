"""The mean of boosted trees that learn the log label and of others that learn the label itself.

The logarithm weighs all programs of a task alike, cross-entropy of the label the fast ones: they
err in different tasks, and their mean varies less from seed to seed (docs/learn.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Json, Option
from graph_net.learn.cost_model import CostModel, Domain, save_model
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import create_model, load_model
from graph_net.learn.trees import CROSS_ENTROPY, REGRESSION

OBJECTIVES = (REGRESSION, CROSS_ENTROPY)


class Blend(CostModel):
    """``members`` models of each objective; their scores are logarithms of labels, and added."""

    name = "blend"
    options: ClassVar[dict[str, Option]] = {
        "base": Option("lightgbm", ("lightgbm", "xgboost")),
        "members": Option(3, least=1, most=64),
        "rounds": Option(600, least=1, most=100_000),
        "threads": Option(0, least=0, most=1024),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        self._members = [self._create(index) for index in range(self._count)]
        for member in self._members:
            member.fit(data, held_out)
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        """Return logarithms of labels."""
        self.learned().check_columns(data)
        scores = [member.predict(data) for member in self._members]
        return np.asarray(np.mean(scores, axis=0), np.float64)

    def save_parts(self, folder: Path) -> None:
        self.learned()
        for index, member in enumerate(self._members):
            save_model(member, folder / f"member-{index}")

    def load_parts(self, folder: Path) -> None:
        self._members = [load_model(folder / f"member-{index}") for index in range(self._count)]

    @property
    def _count(self) -> int:
        return int(self.number("members")) * len(OBJECTIVES)

    def _create(self, index: int) -> CostModel:
        turn, place = divmod(index, len(OBJECTIVES))
        options: dict[str, Json] = {"objective": OBJECTIVES[place]}
        options |= {key: self.settings[key] for key in ("rounds", "threads")}
        seed = self.seed * int(self.number("members")) + turn
        return create_model(str(self.settings["base"]), options, seed)
