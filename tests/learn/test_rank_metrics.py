"""τ, OPA and slowdown, against scipy and against their definitions counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.learn.metrics import MetricError, TaskCosts
from graph_net.learn.rank_metrics import (
    kaggle_score,
    kendall_tau,
    opa_by_task,
    ordered_pair_accuracy,
    slowdown_by_task,
    tau_by_task,
    tile_score,
)

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=150)


@given(PAIRS)
def test_tau_is_scipys(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="needs scipy")
    one, other = np.array(pairs).T
    expected = stats.kendalltau(one, other).statistic
    assert kendall_tau(one, other) == pytest.approx(0.0 if np.isnan(expected) else expected)


@given(PAIRS)
def test_opa_is_the_share_of_pairs(pairs: list[tuple[int, int]]) -> None:
    costs, scores = np.array(pairs).T
    right = counted = 0.0
    for i in range(len(costs)):
        for j in range(len(costs)):
            if costs[i] < costs[j]:
                counted += 1
                right += 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
    expected = right / counted if counted else 0.5
    assert ordered_pair_accuracy(costs, scores) == pytest.approx(expected)


def test_without_ties_tau_is_twice_opa_less_one() -> None:
    draw = np.random.default_rng(0)
    programs = TaskCosts.of(draw.permutation(50) + 1.0, np.repeat([0, 1], 25))
    scores = draw.normal(size=50)
    np.testing.assert_allclose(tau_by_task(programs, scores), 2 * opa_by_task(programs, scores) - 1)


def test_slowdown_is_of_the_best_among_the_first() -> None:
    programs = TaskCosts.of([4.0, 2.0, 3.0, 9.0, 8.0], [0, 0, 0, 1, 1])
    scores = [3, 2, 1, 1, 2]
    assert slowdown_by_task(programs, scores, 1).tolist() == [1.0, 0.0]
    assert slowdown_by_task(programs, scores, 2).tolist() == [0.0, 0.0]
    assert tile_score(programs, scores) == 1.0


def test_kaggles_score_is_the_mean_over_collections() -> None:
    assert kaggle_score({"tile:xla": 0.9, "layout:xla:default": 0.3}) == pytest.approx(0.6)
    with pytest.raises(MetricError):
        kaggle_score({})
