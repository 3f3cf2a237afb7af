"""Metrics of rankings, held against the definitions written out by hand."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.learn.metrics import (
    MetricError,
    TaskCosts,
    best_over_picked,
    effective_tasks,
    mape,
    pairwise_accuracy,
    peak_score,
    r_squared,
    random_best_over_picked,
    rmse,
    top_k,
)

COSTS = [4.0, 2.0, 1.0, 3.0, 6.0]
TASKS = [0, 0, 0, 1, 1]
PROGRAMS = TaskCosts.of(COSTS, TASKS)
BACKWARDS = [3.0, 2.0, 1.0, 1.0, 2.0]
"""Scores that put the slowest first."""
tasks_of_programs = st.lists(
    st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=6), min_size=1, max_size=4
)


def flat(groups: list[list[float]]) -> TaskCosts:
    tasks = [task for task, costs in enumerate(groups) for _ in costs]
    return TaskCosts.of([cost for costs in groups for cost in costs], tasks)


def test_labels_are_one_for_the_best_and_zero_for_what_failed() -> None:
    programs = TaskCosts.of([2.0, 1.0, np.inf], [0, 0, 0])
    assert programs.labels.tolist() == [0.5, 1.0, 0.0]


def test_the_worst_ranking_picks_the_worst_first() -> None:
    assert best_over_picked(PROGRAMS, BACKWARDS, 1).tolist() == [1 / 4, 3 / 6]
    assert best_over_picked(PROGRAMS, BACKWARDS, 2).tolist() == [1 / 2, 1.0]
    assert peak_score(PROGRAMS, BACKWARDS, 2) == 0.75


def test_top_k_weighs_tasks_by_calls_and_networks_alike() -> None:
    weights = {"one": {0: 2.0, 1: 1.0}, "two": {1: 5.0}}
    score = top_k(PROGRAMS, PROGRAMS.least_of_first(BACKWARDS, 1), weights)
    assert score.networks == {"one": (1 * 2 + 3) / (4 * 2 + 6), "two": 3 / 6}
    assert score.mean == pytest.approx((5 / 14 + 1 / 2) / 2)
    assert score.pooled == pytest.approx((2 + 3 + 15) / (8 + 6 + 30))


def test_a_pick_that_failed_costs_everything() -> None:
    programs = TaskCosts.of([1.0, np.inf, 1.0], [0, 0, 1])
    picked = programs.least_of_first([0.0, 1.0, 0.0], 1)
    assert top_k(programs, picked, {"net": {0: 1.0, 1: 1.0}}).pooled == 0.0


def test_one_heavy_task_is_the_only_effective_one() -> None:
    programs = TaskCosts.of([1.0, 1.0, 1.0], [0, 1, 2])
    assert effective_tasks(programs, {"net": {0: 1.0, 1: 1.0, 2: 1.0}}) == pytest.approx(3)
    assert effective_tasks(programs, {"net": {0: 1e9, 1: 1.0, 2: 1.0}}) == pytest.approx(1)


def test_errors_of_scores_that_are_labels_are_none() -> None:
    labels = PROGRAMS.labels
    assert rmse(PROGRAMS, labels) == mape(PROGRAMS, labels) == 0.0
    assert r_squared(PROGRAMS, labels) == pairwise_accuracy(PROGRAMS, labels) == 1.0


def test_errors_by_hand() -> None:
    programs = TaskCosts.of([1.0, 2.0, 1.0, 4.0], [0, 0, 1, 1])  # labels 1, 1/2, 1, 1/4
    scores = [1.0, 1.0, 1.0, 0.75]
    assert rmse(programs, scores) == pytest.approx(np.sqrt((0.25 + 0.25) / 4))
    assert mape(programs, scores) == pytest.approx((0.5 / 0.5 + 0.5 / 0.25) / 4)
    first, second = 1 - 0.25 / 0.125, 1 - 0.25 / (2 * 0.375**2)
    assert r_squared(programs, scores) == pytest.approx((first + second) / 2)


def test_pairs_are_counted_as_tenset_does() -> None:
    programs = TaskCosts.of([1.0, 2.0, 3.0, 1.0], [0, 0, 0, 1])
    # of three pairs one is in order, one is not, one has equal scores; a single program is a half
    assert pairwise_accuracy(programs, [2.0, 2.0, 3.0, 9.0]) == pytest.approx((0 * 3 + 0.5) / 4)
    assert pairwise_accuracy(programs, [3.0, 1.0, 2.0, 9.0]) == pytest.approx((2 / 3 * 3 + 0.5) / 4)


@given(tasks_of_programs, st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_a_random_ranking_has_the_mean_of_all_choices(
    groups: list[list[float]], k: int, seed: int
) -> None:
    programs = flat(groups)
    for expected, found, costs in zip(
        random_best_over_picked(programs, k), programs.random_least(k), groups, strict=True
    ):
        chosen = list(combinations(costs, min(k, len(costs))))
        assert found == pytest.approx(np.mean([min(some) for some in chosen]))
        assert expected == pytest.approx(np.mean([min(costs) / min(some) for some in chosen]))


@given(tasks_of_programs, st.randoms(use_true_random=False))
def test_more_picks_are_never_worse_and_all_are_perfect(groups: list[list[float]], chance) -> None:  # type: ignore[no-untyped-def]
    programs = flat(groups)
    scores = [chance.random() for _ in programs.costs]
    worth = [best_over_picked(programs, scores, k) for k in range(1, 7)]
    assert all((more >= fewer).all() for fewer, more in pairwise(worth))
    assert (worth[-1] == 1).all()


@pytest.mark.parametrize(
    ("costs", "tasks", "why"),
    [
        ([], [], "not empty"),
        ([1.0], [0, 1], "same length"),
        ([0.0], [0], "positive"),
        ([float("nan")], [0], "positive"),
        ([1.0, 1.0], [0, 2], "every task"),
        ([float("inf")], [0], "every task"),
    ],
)
def test_programs_without_a_metric_are_refused(
    costs: list[float], tasks: list[int], why: str
) -> None:
    with pytest.raises(MetricError, match=why):
        TaskCosts.of(costs, tasks)


@pytest.mark.parametrize("scores", [[1.0], [float("nan")] * 5])
def test_scores_that_rank_nothing_are_refused(scores: list[float]) -> None:
    with pytest.raises(MetricError, match="score"):
        best_over_picked(PROGRAMS, scores)
