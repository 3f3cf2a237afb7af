"""One number for a curve: weighted means of log10 ES(t)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph_net.score.samples import Floats
from graph_net.score.scores import LADDER, Curves


def _weights(values: Mapping[int, float]) -> Floats:
    weights = np.array([values[int(t)] for t in LADDER])
    return np.asarray(weights / weights.sum(), np.float64)


GRAPHNET = _weights(
    {-10: 0.001, -9: 0.001, -8: 0.001, -7: 0.13, -6: 0.40} | dict.fromkeys(range(-5, 5), 0.48)
)
PASSBENCH = _weights(
    dict.fromkeys(range(-10, -5), 0.001)
    | {-5: 1, -4: 1, -3: 1, -2: 0.8, -1: 0.64, 0: 0.512, 1: 0.4096, 2: 0.32768, 3: 0.262144}
    | {4: 0.001}
)


def graphnet_aggregate(curves: Curves) -> Floats:
    """Return Σ w_t·log10 ES(t), GraphNet's aggregate, one number per row."""
    return _mean(curves, GRAPHNET)


def passbench_aggregate(curves: Curves) -> Floats:
    """Return 10^(Σ w_t·log10 ES(t)), PassBench's AS, one number per row."""
    return np.asarray(10.0 ** _mean(curves, PASSBENCH), np.float64)


def _mean(curves: Curves, weights: Floats) -> Floats:
    positions = np.searchsorted(curves.ts, LADDER)
    within = np.minimum(positions, len(curves.ts) - 1)
    if not np.array_equal(curves.ts[within], LADDER):
        raise ValueError("an aggregate needs ES(t) at every whole t from -10 to 4")
    return np.asarray(np.log10(curves.es[:, positions]) @ weights, np.float64)
