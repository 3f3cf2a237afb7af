"""MeasuredSet: programs to learn from, with their hashes and the noise of the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Ints, TaskCosts
from graph_net.learn.ranked_tasks import RepeatedCosts

Uint64s = NDArray[np.uint64]


@dataclass(frozen=True)
class MeasuredSet:
    """Programs to learn from, their hashes, and the programs that were measured twice."""

    data: LearningSet
    programs: Uint64s
    """Hash of each program's schedule."""
    repeated: RepeatedCosts
    """All programs that were measured twice, from which the noise is known."""
    features: str
    """Name of the kind of features."""

    def take(self, wanted: Ints) -> MeasuredSet:
        """Return these programs only; ``repeated`` is unchanged."""
        return replace(self, data=self.data.take(wanted), programs=self.programs[wanted])


def join_sets(parts: Sequence[MeasuredSet]) -> MeasuredSet:
    """Return the sets of several platforms as one."""
    if len(parts) == 1:
        return parts[0]
    rows = np.cumsum([0, *(len(part.data.rows) for part in parts)])
    tasks = np.cumsum([0, *(len(part.data.tasks) for part in parts)])
    data = LearningSet(
        parts[0].data.columns,
        np.concatenate([part.data.rows for part in parts]),
        np.concatenate([[0], *(part.data.starts[1:] + rows[n] for n, part in enumerate(parts))]),
        TaskCosts.of(
            np.concatenate([part.data.programs.costs for part in parts]),
            np.concatenate([part.data.programs.tasks + tasks[n] for n, part in enumerate(parts)]),
        ),
        tuple(task for part in parts for task in part.data.tasks),
    )
    programs = np.concatenate([part.programs for part in parts])
    repeated = RepeatedCosts.join([part.repeated for part in parts])
    return MeasuredSet(data, programs, repeated, parts[0].features)
