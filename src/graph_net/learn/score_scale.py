"""ScoreScale: the scores of any model as log labels, so that they can be added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Floats, Ints

LEAST_LABEL = 0.01
"""Labels below this, and failures, all count as equally bad."""


def log_labels(data: LearningSet) -> Floats:
    """Return the log of each program's label, ``least cost of the task / cost``."""
    return np.log(np.maximum(data.programs.labels, LEAST_LABEL))


@dataclass(frozen=True)
class ScoreScale:
    """``log label ≈ offset + slope · score``; the scores of a ranking model have no unit."""

    slope: float = 1.0
    offset: float = 0.0

    @staticmethod
    def fit(scores: Floats, data: LearningSet) -> ScoreScale:
        """Return the least squares within tasks, over programs that ran; slopes are not negative.

        Scores compare only within a task, so the slope is fitted to differences from the task's
        mean.
        """
        ran = np.isfinite(data.programs.costs)
        tasks, given, wanted = data.programs.tasks[ran], scores[ran], log_labels(data)[ran]
        x, y = _centre(given, tasks), _centre(wanted, tasks)
        slope = max(float(x @ y) / max(float(x @ x), 1e-12), 0.0)
        return ScoreScale(slope, float((wanted - slope * given).mean()))

    def apply(self, scores: Floats) -> Floats:
        """Return the log labels that scores correspond to."""
        return self.offset + self.slope * scores


def _centre(values: Floats, tasks: Ints) -> Floats:
    """Return each value's difference from the mean of its task."""
    sums = np.bincount(tasks, values)
    return np.asarray(values - (sums / np.maximum(np.bincount(tasks), 1))[tasks])
