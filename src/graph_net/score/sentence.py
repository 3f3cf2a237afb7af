"""A table of scores as one sentence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph_net.printable import count_phrase
from graph_net.score.confidence import Estimate
from graph_net.score.samples import ScoredGraphs

LEVEL = 0
"""The tolerance at which outputs count as right, as for α in the table."""


def sentence(scored: Mapping[str, ScoredGraphs], estimates: Mapping[str, Estimate]) -> str:
    """Return each compiler's speed relative to eager with its interval, and on how many graphs."""
    return "; ".join(_clause(name, graphs, estimates[name]) for name, graphs in scored.items())


def _clause(name: str, samples: ScoredGraphs, scores: Estimate) -> str:
    right = samples.t <= LEVEL
    timed = int(np.count_nonzero(right & samples.timed))
    if not timed:
        return f"{name} is right and timed on none of {count_phrase(len(samples), 'graph')}"
    noisy = int(np.count_nonzero(right)) - timed
    return f"{name} is {_speed(scores)} on {_graphs(len(samples), timed, noisy)}"


def _graphs(count: int, timed: int, noisy: int) -> str:
    """Return how many graphs a speed is of, and why the others have none."""
    if timed == count:
        return f"these {count:,} graphs" if count > 1 else "this one graph"
    others = {"failed": count - timed - noisy, "too noisy to say": noisy}
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in others.items() if number)
    return f"{timed:,} of {count_phrase(count, 'graph')} ({reasons})"


def _speed(scores: Estimate) -> str:
    speed = scores.at("alpha", LEVEL)
    ratio = f"{speed.value:.2f}× as fast as eager ({speed.low:.2f} to {speed.high:.2f})"
    return f"not significantly different from eager, {ratio}," if speed.contains(1) else ratio
