"""Our cost models inside MetaSchedule's own evolutionary search, as its ``PyCostModel``.

    tune_relax(…, cost_model=metaschedule_model(model), builder=…, runner=…)

Candidates are scored by their traces alone: nothing is lowered. What MetaSchedule measures goes to
a local model of the task, which learns what the given one misses there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from graph_net.learn.adapting import Adapts
from graph_net.learn.learning_set import LearningTask
from graph_net.programs.spaces.metaschedule import cores, trace_text
from graph_net.search.history import SearchHistory
from graph_net.search.tvm.tuning_round import described_space


class TraceScores:
    """Scores traces of any task, given the traces of it that were measured."""

    def __init__(self, model: Adapts) -> None:
        self.model, self.cores = model, cores()
        self.histories: defaultdict[str, SearchHistory] = defaultdict(SearchHistory)
        """What was measured, by task."""

    def predict(self, task: str, traces: Sequence[str]) -> np.ndarray:
        """Return a score from 0 to 1 for each trace, the greater the faster."""
        space = described_space(LearningTask(task), self.cores)
        described = space.describe(self.histories[task], traces)
        scores = np.asarray(self.model.predict_given(described[0], described[1]))
        by_text = dict(zip(described[2], scores.tolist(), strict=True))
        found = np.array([by_text[trace] for trace in traces])
        return np.exp(found - found.max()) if found.size else found

    def update(self, task: str, traces: Sequence[str], seconds: Sequence[float]) -> None:
        """Note measurements; infinite seconds for what failed."""
        for trace, cost in zip(traces, seconds, strict=True):
            self.histories[task].add(trace, cost)


def metaschedule_model(model: Adapts) -> Any:
    """Return a cost model that MetaSchedule takes."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.cost_model import PyCostModel

    scores = TraceScores(model)

    @derived_object
    class OurCostModel(PyCostModel):  # type: ignore[misc]
        """Scores candidates by the features of their traces."""

        def load(self, path: str) -> None:
            """Load nothing: the model is given."""

        def save(self, path: str) -> None:
            """Save nothing."""

        def update(self, context: Any, candidates: Any, results: Any) -> None:
            seconds = [_seconds(result) for result in results]
            scores.update(str(context.task_name), [_trace(one) for one in candidates], seconds)

        def predict(self, context: Any, candidates: Any) -> np.ndarray:
            return scores.predict(str(context.task_name), [_trace(one) for one in candidates])

    return OurCostModel()


def _trace(candidate: Any) -> str:
    return trace_text(candidate.sch)


def _seconds(result: Any) -> float:
    runs = [float(seconds) for seconds in result.run_secs or ()]
    return fmean(runs) if runs and result.error_msg is None else math.inf
