"""The mean of boosted trees and of neural networks: they err on different programs.

Trees learn the label of each program, networks the order within a task. Their scores have no
common unit, so each member's are put on the scale of log labels first, by the programs it learned
from. How much of the sum is the networks' depends on the data: folds of the training tasks decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import ClassVar

import numpy as np

from graph_net.compilers.option import Json, Option
from graph_net.learn.cost_model import CostModel, Domain, load_json_part, save_json_part
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.losses import LOSSES
from graph_net.learn.metrics import Floats, best_over_picked
from graph_net.learn.model_registry import create_model
from graph_net.learn.scaled_members import ScaledMembers
from graph_net.learn.task_folds import task_folds

TREES = "blend"
PART = "share.json"


SHARES = (0.0, 0.25, 0.5, 0.75)
"""What the networks' part of a score may be."""
PICKED = (1, 5)
"""Programs that a task is given to pick, when shares are compared."""


@dataclass(frozen=True)
class _Share:
    """The networks' part of the score."""

    networks: float


class Mixture(CostModel):
    """A blend of trees and ``networks`` networks, each with its share of the score."""

    name = "mixture"
    needs = "lightgbm"
    options: ClassVar[dict[str, Option]] = {
        "network": Option("mlp", ("mlp", "lstm", "attention")),
        "networks": Option(3, least=1, most=64),
        "loss": Option("listmle", tuple(LOSSES)),
        "epochs": Option(20, least=1, most=10_000),
        "width": Option(128, least=8, most=2048),
        "members": Option(1, least=1, most=64),
        "rounds": Option(600, least=1, most=100_000),
        "threads": Option(0, least=0, most=1024),
        "share": Option(0.5, least=0.0, most=1.0),
        "folds": Option(3, least=0, most=64),
    }
    """``members`` and ``rounds`` are the blend's, ``loss``, ``epochs``, ``width`` each network's.
    ``share`` is the networks' part, used as given with fewer than two ``folds``; otherwise folds of
    the training tasks choose it.
    """

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Choose the share on folds of ``data``; then train all members on all of it."""
        chosen = self._choose_share(data) if self.number("folds") > 1 else self.number("share")
        models = self._create(int(self.number("networks")))
        self._share = _Share(float(chosen))
        self._members = ScaledMembers.fit(models, data, held_out)
        self.domain = Domain.of(data)

    @property
    def share(self) -> float:
        """The networks' part of the score."""
        self.learned()
        return self._share.networks

    def _choose_share(self, data: LearningSet) -> float:
        """Return the share that picks best from tasks the members have not learned from."""
        generator = np.random.default_rng(self.seed)
        reached: dict[float, list[float]] = {share: [] for share in SHARES}
        for fold in task_folds(data, int(self.number("folds")), generator):
            rest = data.select(sorted(set(range(len(data.tasks))) - set(fold)))
            unseen = data.select(fold)
            scores = ScaledMembers.fit(self._create(1), rest).scores(unseen)
            for share, found in reached.items():
                mixed = _mix(scores, share)
                found += [
                    float(ratio)
                    for k in PICKED
                    for ratio in best_over_picked(unseen.programs, mixed, k)
                ]
        return max(SHARES, key=lambda share: fmean(reached[share]))

    def predict(self, data: LearningSet) -> Floats:
        """Return log labels."""
        self.learned().check_columns(data)
        return _mix(self._members.scores(data), self._share.networks)

    def save_parts(self, folder: Path) -> None:
        self.learned()
        self._members.save(folder)
        save_json_part(self._share, folder / PART)

    def load_parts(self, folder: Path) -> None:
        self._share = load_json_part(_Share, folder / PART)
        self._members = ScaledMembers.load(folder, 1 + int(self.number("networks")))

    def _create(self, count: int) -> list[CostModel]:
        """Return the blend, followed by ``count`` networks."""
        trees: dict[str, Json] = {
            key: self.settings[key] for key in ("members", "rounds", "threads")
        }
        network: dict[str, Json] = {key: self.settings[key] for key in ("loss", "epochs", "width")}
        name = str(self.settings["network"])
        return [
            create_model(TREES, trees, self.seed),
            *(create_model(name, network, self.seed * count + turn) for turn in range(count)),
        ]


def _mix(scores: Sequence[Floats], share: float) -> Floats:
    """Return the trees' scores, which come first, and the networks' by their share."""
    trees, *networks = scores
    return np.asarray((1 - share) * trees + share * np.mean(networks, axis=0))
