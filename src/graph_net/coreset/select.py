"""Choose graphs of a pack by a method, with the errors to expect where records tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graph_net.coreset.errors import (
    METHODS,
    CandidateGraphs,
    Expected,
    MeasuredGraphs,
    expected_errors,
    without,
)
from graph_net.coreset.features import features, learn, values_of
from graph_net.coreset.markov import Transitions
from graph_net.score.load import load

EAGER = "eager"
"""Against itself it tells nothing of compilers."""


def select_graphs(
    rows: Sequence[Mapping[str, Any]],
    records: Sequence[Path],
    found: Transitions | None,
    method: str,
    count: int,
    seed: int,
) -> tuple[list[str], list[Expected]]:
    """Return the names of the chosen, and the errors to expect where records tell them."""
    table = features(rows)
    heavy = table
    errors: list[Expected] = []
    if measured := _measured(rows, records):
        places, values = without(measured)
        heavy = learn(table[places], values).emphasised(table)
        errors = [e for e in expected_errors(table, measured, count, found, seed) if e.trials]
    chosen = METHODS[method](CandidateGraphs(table, heavy, found), count, seed)
    return sorted(rows[place]["name"] for place in chosen), errors


def _measured(rows: Sequence[Mapping[str, Any]], records: Sequence[Path]) -> list[MeasuredGraphs]:
    """The values of each compiler on the graphs of the pack that it was measured on."""
    place = {row["id"]: number for number, row in enumerate(rows)}
    found: list[MeasuredGraphs] = []
    for name, samples in load(records).items() if records else ():
        if not len(samples) or name == EAGER:
            continue
        held = np.array([str(graph) in place for graph in samples.graph], np.bool_)
        held &= ~samples.untimed  # what was too noisy has no value of its own
        kept = samples.take(held)
        if len(kept):
            places = np.array([place[str(graph)] for graph in kept.graph], np.int64)
            found.append(MeasuredGraphs(places, kept.family, values_of(kept)))
    return found
