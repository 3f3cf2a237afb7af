"""Descent by the signs of slopes (Rprop): a step size per setting, robust to scales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graph_net.learn.metrics import Floats

FIRST_STEP, LEAST_STEP, MOST_STEP = 0.2, 1e-3, 0.8
GROW, SHRINK = 1.3, 0.5


def descend(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    lowest: Floats,
    highest: Floats,
    steps: int,
) -> Floats:
    """Return the settings of least loss on the way down; ``loss`` gives a value and its slope."""
    settings, best, least = start, start, np.inf
    pace, last = np.full(start.size, FIRST_STEP), np.zeros(start.size)
    for _ in range(steps):
        value, slope = loss(settings)
        if value < least:
            least, best = value, settings
        agree = np.sign(slope) * np.sign(last)
        factor = np.where(agree > 0, GROW, np.where(agree < 0, SHRINK, 1.0))
        pace = np.clip(pace * factor, LEAST_STEP, MOST_STEP)
        last = np.where(agree < 0, 0.0, slope)
        settings = np.clip(settings - pace * np.sign(last), lowest, highest)
    return best
