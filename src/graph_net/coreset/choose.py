"""Choose few graphs whose features have the mean of all graphs.

A score is a mean over graphs. If it depends roughly linearly on the features, graphs with the right
mean in every feature have the right score for any compiler. All chosen graphs have the same weight,
so their own score is the prediction.
"""

from __future__ import annotations

import numpy as np

from graph_net.score.samples import Floats, Ints

ROUNDS = 20
"""The most rounds of exchanges; they end earlier, when none helps."""


def choose(table: Floats, count: int, seed: int = 0) -> Ints:
    """Return the positions of ``count`` rows whose mean is near the mean of all.

    Starting with random rows, every chosen row in turn is exchanged for the one that brings the
    mean nearest, until no exchange helps.
    """
    count = min(count, len(table))
    centred = table - table.mean(axis=0)
    chosen = np.random.default_rng(seed).choice(len(table), count, replace=False)
    free = np.ones(len(table), np.bool_)
    free[chosen] = False
    total = centred[chosen].sum(axis=0)
    squares = (centred**2).sum(axis=1)
    for _ in range(ROUNDS):
        before = float(total @ total)
        for index in range(count):
            rest = total - centred[chosen[index]]
            # |rest + row|² of every row, less the constant |rest|².
            distance = squares + 2 * centred @ rest
            distance[~free] = np.inf
            best = int(np.argmin(distance))
            if distance[best] + rest @ rest < total @ total - 1e-12:
                free[chosen[index]], free[best] = True, False
                chosen[index] = best
                total = rest + centred[best]
        if float(total @ total) >= before:
            break
    return np.sort(np.asarray(chosen, np.int64))
