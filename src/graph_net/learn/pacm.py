"""PaCM, Pruner's cost model: features of statements joined with the primitives of a schedule.

A program has rows of both kinds in one set: columns ``store.…`` describe its statements, ``step.…``
its primitives. Each is 0 in rows of the other kind, and ``is_store`` gives the kind of a row.
"""

from __future__ import annotations

from graph_net.learn.learning_set import Features, LearnError, LearningSet
from graph_net.learn.networks import JoinedRows
from graph_net.learn.neural import AttentionModel

IS_STORE = "is_store"


class Pacm(AttentionModel):
    """Statements through an MLP and a sum, primitives through attention, joined."""

    name = "pacm"
    encoder = JoinedRows

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        if IS_STORE not in data.columns:
            raise LearnError(
                f"{self.name} finds no column {IS_STORE} that tells statements from primitives: "
                "read the set with the features per_store+primitives"
            )
        super().fit(data, held_out)

    def _prepare(self, data: LearningSet) -> tuple[Features, Features]:
        """Leave ``is_store`` unscaled, and tell the network its column."""
        mean, deviation = super()._prepare(data)
        place = data.columns.index(IS_STORE)
        mean[place], deviation[place] = 0.0, 1.0
        self._module.get_buffer("encoder.is_store")[place] = 1.0
        return mean, deviation
