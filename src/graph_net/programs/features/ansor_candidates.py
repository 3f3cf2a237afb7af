"""Ansor's programs for a GPU beside the other candidates of their task.

A search asks for the best of the candidates it has, so what sets a candidate apart from the others
may be told: each number of ``spaces.ansor_gpu`` also as its difference from the candidates' median.
The candidates of a search that has converged are near each other because they are good, and a model
that learned from such ones reads that off the median: ask it about candidates of the same origin,
or join it with a model that has not seen the differences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_net.programs.spaces.ansor_gpu import NAMES, encode_gpu
from graph_net.programs.spaces.gpus import Gpu
from graph_net.programs.spaces.magnitudes import Floats

CANDIDATE_NAMES = (*NAMES, *(f"{name}_beside" for name in NAMES))


def encode_candidates(workload: str, schedules: Sequence[str], gpu: Gpu) -> Floats:
    """Return a row of ``CANDIDATE_NAMES`` for each candidate of a task."""
    return beside_median(encode_gpu(workload, schedules, gpu))


def beside_median(rows: Floats) -> Floats:
    """Return rows of one task's candidates, with the differences from their median behind."""
    if not len(rows):
        return np.zeros((0, 2 * rows.shape[1]), np.float32)
    return np.hstack([rows, rows - np.median(rows, axis=0)]).astype(np.float32)
