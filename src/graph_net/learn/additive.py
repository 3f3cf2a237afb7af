"""An additive model of layouts: every setting of every node adds or saves its own share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graph_net.compilers.option import Option
from graph_net.learn.cost_levels import normal_scores
from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats
from graph_net.learn.per_graph import Arrays, PerGraph

Codes = NDArray[np.int32]
AdditiveRanker = tuple[NDArray[np.int32], Floats]
"""(column, value) of each setting, and what it adds."""


class Additive(PerGraph[AdditiveRanker]):
    """Ridge regression of ranks on settings: the baseline of layouts."""

    name = "additive"
    options: ClassVar[dict[str, Option]] = {"strength": Option(0.3, least=1e-6, most=1e6)}

    def fit_graph(self, codes: Codes, costs: Floats, samples: list[Floats]) -> AdditiveRanker:
        pairs = np.array(
            [(c, v) for c in range(codes.shape[1]) for v in np.unique(codes[:, c]).tolist()],
            np.int32,
        ).reshape(-1, 2)
        rows = (codes[:, pairs[:, 0]] == pairs[:, 1]).astype(np.float64)
        damping = self.number("strength") * np.eye(len(pairs))
        shares = np.linalg.solve(rows.T @ rows + damping, rows.T @ normal_scores(costs))
        return pairs, shares

    def rank_graph(self, ranker: AdditiveRanker, codes: Codes) -> Floats:
        pairs, shares = ranker
        return -((codes[:, pairs[:, 0]] == pairs[:, 1]) @ shares)

    def ranker_arrays(self, ranker: AdditiveRanker) -> Arrays:
        return {"pairs": ranker[0], "shares": ranker[1]}

    def ranker_of(self, arrays: Arrays) -> AdditiveRanker:
        pairs, shares = arrays["pairs"].reshape(-1, 2), arrays["shares"]
        if shares.shape != (len(pairs),):
            raise LearnError("as many shares as settings")
        return pairs, shares
