"""How cost models take part in a search, by name.

random          no model
scratch         a Gaussian process of what was measured: of a listed space's parameters, by a
                confidence bound; of another space's features, by expected improvement
online          trees learned from what was measured in this task alone, anew for each batch
pretrained      a model of other tasks, in its own order
residual        the same, with local trees on what it misses
process         the same, with a local Gaussian process on what it misses
transfer        expected improvement that starts from the model and learns what it misses
in_context      a model that ranks by what was measured, without training
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_net.learn.adapting import Adapts, ResidualProcess, ResidualTrees, TaskTrees
from graph_net.learn.cost_model import CostModel
from graph_net.learn.in_context import InContext
from graph_net.learn.learning_set import Features, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.search.confidence_bound import ConfidenceBound
from graph_net.search.improvement import ExpectedImprovement
from graph_net.search.measurer import SearchError
from graph_net.search.proposer import Evolution, ModelProposer, Proposer, RandomProposer

FROM_SCRATCH = ("random", "scratch", "online")
FROM_MODEL = ("pretrained", "residual", "process", "transfer", "in_context")
WAYS = (*FROM_SCRATCH, *FROM_MODEL)
EPSILON = 0.05
DEFAULT_EVOLUTION = Evolution()
FIRST = 8
"""Random programs before trees of this task alone are asked."""
DETAILED = 48
"""Candidates of a draft that are described in detail; compiling one takes a fifth of a second."""


@dataclass
class RememberedScores:
    """The scores of a model that has learned, computed once for a space."""

    model: CostModel
    _kept: tuple[Features, Floats] | None = field(default=None, repr=False)

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return the model's scores of each program, whatever else is measured or asked about."""
        if self._kept is None or self._kept[0] is not data.rows:
            self._kept = (data.rows, self.model.prior_scores(data))
        return self._kept[1]


def make_proposer(
    way: str,
    model: CostModel | None = None,
    seed: int = 0,
    epsilon: float = EPSILON,
    evolution: Evolution = DEFAULT_EVOLUTION,
    draft: CostModel | None = None,
) -> Proposer:
    """Return the proposer of a way by its name; ``model`` has learned from other tasks.

    ``evolution`` is how a drawn space is explored before a batch is chosen. With ``draft``, a model
    of a space's own features, ``model`` takes detailed ones and sees only the best of the draft.
    """
    if way not in WAYS:
        raise SearchError(f"unknown way to search {way!r}; available: {', '.join(WAYS)}")
    if way == "random":
        return RandomProposer()
    if way == "scratch":
        improvement = ExpectedImprovement(seed=seed)
        otherwise = ModelProposer(improvement, epsilon=0.0, evolution=evolution)
        return ConfidenceBound(otherwise, seed=seed)
    if way == "online":
        trees = TaskTrees(seed)
        return ModelProposer(trees, epsilon=epsilon, first=FIRST, evolution=evolution)
    if model is None:
        raise SearchError(f"a search {way!r} starts from a model that has learned: give one")
    first = RememberedScores(model)
    if draft is not None:
        return ModelProposer(
            first if way == "pretrained" else _verifier(way, first),
            draft=RememberedScores(draft),
            drafted=DETAILED,
            in_detail=True,
            epsilon=0.0 if way == "pretrained" else epsilon,
            evolution=evolution,
        )
    if way == "transfer":
        improvement = ExpectedImprovement(first, design=4, seed=seed)
        return ModelProposer(improvement, epsilon=0.0, evolution=evolution)
    if way == "pretrained":
        return ModelProposer(first, epsilon=0.0, evolution=evolution)
    verify = _verifier(way, first)
    return ModelProposer(verify, draft=first, epsilon=epsilon, evolution=evolution)


def _verifier(way: str, first: RememberedScores) -> Adapts:
    if way == "residual":
        return ResidualTrees(first)
    if way == "process":
        return ResidualProcess(first)
    if isinstance(first.model, InContext):
        return first.model
    if way == "transfer":
        raise SearchError("a search 'transfer' takes no draft")
    raise SearchError(f"{first.model.name} does not rank in context: give an in_context model")
