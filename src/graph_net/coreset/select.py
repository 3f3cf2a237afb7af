"""Choose graphs of a pack by a method, with the expected errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graph_net.coreset.errors import (
    METHODS,
    CandidateGraphs,
    ExpectedError,
    MeasuredGraphs,
    centred_values,
    expected_errors,
)
from graph_net.coreset.features import features_of, learn, values_of
from graph_net.coreset.markov import Transitions
from graph_net.score.load import load

EAGER = "eager"
"""Excluded compiler: its records compare eager with itself."""


def select_graphs(
    rows: Sequence[Mapping[str, Any]],
    records: Sequence[Path],
    transitions: Transitions | None,
    method: str,
    count: int,
    seed: int,
) -> tuple[list[str], list[ExpectedError]]:
    """Return the names of the chosen graphs, and the expected errors if there are records."""
    table = features_of(rows)
    weighted = table
    errors: list[ExpectedError] = []
    if measured := _read_measured(rows, records):
        positions, values = centred_values(measured)
        weighted = learn(table[positions], values).emphasise(table)
        errors = expected_errors(table, measured, count, transitions, seed)
        errors = [error for error in errors if error.trials]
    chosen = METHODS[method](CandidateGraphs(table, weighted, transitions), count, seed)
    return sorted(rows[index]["name"] for index in chosen), errors


def _read_measured(
    rows: Sequence[Mapping[str, Any]], records: Sequence[Path]
) -> list[MeasuredGraphs]:
    """Return the values of each compiler on the graphs of the pack it was measured on."""
    position = {row["id"]: index for index, row in enumerate(rows)}
    measured: list[MeasuredGraphs] = []
    for name, samples in load(records).items() if records else ():
        if not len(samples) or name == EAGER:
            continue
        usable = np.array([str(graph) in position for graph in samples.graph], np.bool_)
        usable &= ~samples.untimed  # a sample that was too noisy has no value
        samples = samples.take(usable)
        if len(samples):
            positions = np.array([position[str(graph)] for graph in samples.graph], np.int64)
            measured.append(MeasuredGraphs(positions, samples.family, values_of(samples)))
    return measured
