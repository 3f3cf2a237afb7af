"""Models that are combined: trained together, their scores on one scale, saved side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph_net.learn.cost_model import CostModel, load_json_part, save_json_part, save_model
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import load_model
from graph_net.learn.score_scale import ScoreScale

PART = "scales.json"


@dataclass(frozen=True)
class _Scales:
    """How the scores of each member become log labels: those of a ranking have no unit."""

    members: tuple[ScoreScale, ...]


@dataclass(frozen=True)
class ScaledMembers:
    """Trained models, and the scale of each one's scores on the programs it learned from."""

    models: Sequence[CostModel]
    scales: _Scales

    @staticmethod
    def fit(
        models: Iterable[CostModel], data: LearningSet, held_out: LearningSet | None = None
    ) -> ScaledMembers:
        """Train the models, and return them with their scales."""
        trained = list(models)
        for model in trained:
            model.fit(data, held_out)
        scales = (ScoreScale.fit(model.predict(data), data) for model in trained)
        return ScaledMembers(trained, _Scales(tuple(scales)))

    def scores(self, data: LearningSet) -> list[Floats]:
        """Return each member's scores as log labels."""
        pairs = zip(self.scales.members, self.models, strict=True)
        return [scale.apply(model.predict(data)) for scale, model in pairs]

    def save(self, folder: Path) -> None:
        """Write the members and their scales into the folder of a model."""
        for index, model in enumerate(self.models):
            save_model(model, folder / f"member-{index}")
        save_json_part(self.scales, folder / PART)

    @staticmethod
    def load(folder: Path, count: int) -> ScaledMembers:
        """Return the members that ``save`` wrote; raise LearnError unless they are ``count``."""
        scales = load_json_part(_Scales, folder / PART)
        if len(scales.members) != count:
            raise LearnError(f"{folder / PART} is not of {count} members: save the model again")
        return ScaledMembers(
            [load_model(folder / f"member-{index}") for index in range(count)], scales
        )
