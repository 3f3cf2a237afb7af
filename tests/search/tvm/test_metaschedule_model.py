"""Our cost model as MetaSchedule calls it."""

from __future__ import annotations

import numpy as np
import pytest

from graph_net.learn.adapting import NearestNeighbour
from graph_net.search.tvm.metaschedule_model import TraceScores

TRACES = [
    f'[[["SamplePerfectTile",["l1"],[4,64],["v3","v4","v5","v6"]],'
    f'["Split",["l1","v3","v4","v5","v6"],[1],["l7","l8","l9","l10"]]],[[0,[{a},{64 // a},1,1]]]]'
    for a in (1, 2, 4, 8)
]


def test_scores_follow_what_was_measured_of_a_task() -> None:
    scores = TraceScores(NearestNeighbour())
    scores.update("a", TRACES[:2], [2.0, 1.0])
    found = scores.predict("a", TRACES)
    assert found[1] > found[0]
    assert found.max() == 1
    assert np.isfinite(found).all()


def test_a_task_knows_nothing_of_another() -> None:
    scores = TraceScores(NearestNeighbour())
    scores.update("a", TRACES[:1], [2.0])
    assert scores.histories["b"].programs == 0


def test_metaschedule_takes_it() -> None:
    tvm = pytest.importorskip("tvm")
    assert tvm
    from graph_net.search.tvm.metaschedule_model import metaschedule_model

    model = metaschedule_model(NearestNeighbour())
    assert type(model).__name__ == "OurCostModel"
