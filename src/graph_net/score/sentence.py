"""What a table of scores comes to, as a sentence a person can repeat."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph_net.printable import count_phrase
from graph_net.score.confidence import Estimate
from graph_net.score.samples import ScoredGraphs

LEVEL = 0
"""Outputs that pass at this tolerance count as right, as those of α do in the table."""


def sentence(scored: Mapping[str, ScoredGraphs], estimates: Mapping[str, Estimate]) -> str:
    """How fast each compiler is beside eager, on how many graphs, with its interval."""
    clauses = [_clause(name, samples, estimates[name]) for name, samples in scored.items()]
    return "; ".join(clauses)


def _clause(name: str, samples: ScoredGraphs, found: Estimate) -> str:
    right = samples.t <= LEVEL
    timed = int(np.count_nonzero(right & samples.timed))
    if not timed:
        return f"{name} is right and timed on none of {count_phrase(len(samples), 'graph')}"
    noisy = int(np.count_nonzero(right)) - timed
    return f"{name} is {_speed(found)} on {_graphs(len(samples), timed, noisy)}"


def _graphs(count: int, timed: int, noisy: int) -> str:
    """How many graphs a speed is of, and what became of the others."""
    if timed == count:
        return f"these {count:,} graphs" if count > 1 else "this one graph"
    others = {"failed": count - timed - noisy, "too noisy to say": noisy}
    reasons = ", ".join(f"{number:,} {what}" for what, number in others.items() if number)
    return f"{timed:,} of {count_phrase(count, 'graph')} ({reasons})"


def _speed(found: Estimate) -> str:
    speed = found.at("alpha", LEVEL)
    told = f"{speed.value:.2f}× as fast as eager ({speed.low:.2f} to {speed.high:.2f})"
    return f"not told apart from eager, {told}," if speed.holds_one else told
