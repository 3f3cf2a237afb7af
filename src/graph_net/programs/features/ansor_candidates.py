"""Features of Ansor's GPU programs, relative to the other candidates of their task.

A search asks for the best of its candidates, so how a candidate differs from the others matters:
each number of ``spaces.ansor_gpu`` is also given as its difference from the candidates' median. The
candidates of a converged search are close to each other because they are good, and a model trained
on them learns that from the median. Ask it only about candidates of the same origin, or combine it
with a model that has not seen the differences.
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
    """Return the rows of one task's candidates, with their differences from the median appended."""
    if not len(rows):
        return np.zeros((0, 2 * rows.shape[1]), np.float32)
    return np.hstack([rows, rows - np.median(rows, axis=0)]).astype(np.float32)
