"""The choice: few graphs whose features have the mean that those of all graphs have.

A score is a mean over graphs. If it depends on the features about linearly, graphs that are right
on average in every feature are right in the score, whatever compiler it is of; and since all have
the same weight, their own score is the prediction.
"""

from __future__ import annotations

import numpy as np

from graph_net.score.samples import Floats, Ints

ROUNDS = 20
"""Rounds of exchanges; they end much earlier, when none helps any more."""


def choose(table: Floats, count: int, seed: int = 0) -> Ints:
    """Positions of so many rows whose mean is nearest the mean of all, as exchanges find them.

    Begun with rows drawn by lot, every chosen row in turn is exchanged for the one that brings
    the mean nearest, until no exchange helps.
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
        for place in range(count):
            rest = total - centred[chosen[place]]
            # |rest + row|² of every row, less what is the same for all.
            away = squares + 2 * centred @ rest
            away[~free] = np.inf
            best = int(np.argmin(away))
            if away[best] + rest @ rest < total @ total - 1e-12:
                free[chosen[place]], free[best] = True, False
                chosen[place] = best
                total = rest + centred[best]
        if float(total @ total) >= before:
            break
    return np.sort(np.asarray(chosen, np.int64))
