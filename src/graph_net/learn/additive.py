"""An additive model of layouts: each setting of each node adds its own share of the cost."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graph_net.compilers.option import Option
from graph_net.configs.config_graph import TENSORS, LayoutConfigs
from graph_net.learn.cost_levels import normal_scores
from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.per_graph import Arrays, PerGraph

Codes = NDArray[np.int32]
AdditiveRanker = tuple[Ints, Floats]
"""(node, setting) pairs, and what each adds."""
BASE = 1_000_000
"""An order has at most six digits."""


class Additive(PerGraph[AdditiveRanker]):
    """Ridge regression of ranks on the settings of nodes: the baseline for layouts."""

    name = "additive"
    options: ClassVar[dict[str, Option]] = {"strength": Option(3.0, least=1e-6, most=1e6)}

    def choose_tensors(self, configs: LayoutConfigs) -> Ints:
        return np.arange(TENSORS * len(configs.nodes))

    def fit_graph(self, codes: Codes, costs: Floats, samples: list[Floats]) -> AdditiveRanker:
        settings = _node_settings(codes)
        pairs = np.array(
            [
                (node, value)
                for node in range(settings.shape[1])
                for value in np.unique(settings[:, node]).tolist()
            ],
            np.int64,
        ).reshape(-1, 2)
        rows = (settings[:, pairs[:, 0]] == pairs[:, 1]).astype(np.float64)
        damping = self.number("strength") * np.eye(len(pairs))
        shares = np.linalg.solve(rows.T @ rows + damping, rows.T @ normal_scores(costs))
        return pairs, shares

    def rank_graph(self, ranker: AdditiveRanker, codes: Codes) -> Floats:
        pairs, shares = ranker
        return np.asarray(-((_node_settings(codes)[:, pairs[:, 0]] == pairs[:, 1]) @ shares))

    def ranker_arrays(self, ranker: AdditiveRanker) -> Arrays:
        return {"pairs": ranker[0], "shares": ranker[1]}

    def ranker_of(self, arrays: Arrays) -> AdditiveRanker:
        pairs, shares = arrays["pairs"].reshape(-1, 2), arrays["shares"]
        if shares.shape != (len(pairs),):
            raise LearnError("as many shares as settings")
        return pairs, shares


def _node_settings(codes: Codes) -> Ints:
    """Return one number for the three orders of each node."""
    orders = codes.reshape(len(codes), -1, TENSORS).astype(np.int64)
    return np.asarray((orders[:, :, 0] * BASE + orders[:, :, 1]) * BASE + orders[:, :, 2])
