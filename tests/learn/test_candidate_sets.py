"""Candidates beside each other: differences from the median, and the subsets learned from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graph_net.learn.candidate_sets import LEAST_SUBSET, beside_median, draw_subset, stack_sets
from graph_net.learn.learning_set import LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import TaskCosts
from graph_net.testing.cost_model import easy_set


def two_tasks(rows: list[list[float]]) -> LearningSet:
    """Return three programs of one task and two of another."""
    tasks = [LearningTask("three"), LearningTask("two")]
    given = np.array(rows, np.float32)
    return tabular_set(["threads"], given, np.ones(5), [0, 1, 0, 1, 0], tasks)


def test_numbers_are_followed_by_their_differences_from_the_tasks_median() -> None:
    found = beside_median(two_tasks([[1], [10], [4], [20], [2]]))
    assert found.columns == ("threads", "threads beside")
    assert found.rows.tolist() == [[1, -1], [10, -5], [4, 2], [20, 5], [2, 0]]


def test_a_program_alone_in_its_task_differs_from_nothing() -> None:
    found = beside_median(two_tasks([[1], [10], [4], [20], [2]]).take(np.array([1])))
    assert found.rows.tolist() == [[10, 0]]


def test_programs_of_several_rows_are_pooled_first() -> None:
    data = LearningSet(
        ("work",),
        np.array([[1.0], [2.0], [7.0]], np.float32),
        np.array([0, 2, 3]),
        TaskCosts.of([1.0, 2.0], [0, 0]),
        (LearningTask("task"),),
    )
    found = beside_median(data)
    assert found.columns == ("sum work", "greatest work", "sum work beside", "greatest work beside")
    assert found.rows.tolist() == [[3, 2, -2, -2.5], [7, 7, 2, 2.5]]


def test_differences_of_the_largest_numbers_stay_finite() -> None:
    large = float(np.finfo(np.float32).max)
    found = beside_median(two_tasks([[-large], [large], [large], [large], [large]]))
    assert np.isfinite(found.rows).all()


def test_a_subset_has_programs_of_the_set_once_each_and_one_that_ran() -> None:
    data = easy_set(tasks=40)
    found = draw_subset(data, np.random.default_rng(0))
    assert len(np.unique(found.rows, axis=0)) == len(found) < len(data)
    assert {row.tobytes() for row in found.rows} <= {row.tobytes() for row in data.rows}
    assert found.programs.sizes.min() >= LEAST_SUBSET
    assert np.isfinite(found.programs.least).all()


def test_subsets_are_of_many_sizes_and_lean_to_slow_programs() -> None:
    data = easy_set(tasks=200)
    found = draw_subset(data, np.random.default_rng(0))
    assert found.programs.sizes.min() < 12 < 36 < found.programs.sizes.max()
    least = dict(zip((task.name for task in data.tasks), data.programs.least, strict=True))
    lost = [
        found.programs.least[place] > least[task.name] for place, task in enumerate(found.tasks)
    ]
    evenly = np.mean(found.programs.sizes) / 48
    assert np.mean(lost) > 1 - evenly


def test_a_small_task_gives_all_it_has() -> None:
    data = easy_set(tasks=3, programs=LEAST_SUBSET)
    assert len(draw_subset(data, np.random.default_rng(0))) == len(data)


def test_the_same_seed_draws_the_same_subset() -> None:
    one, other = (draw_subset(easy_set(), np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one.rows, other.rows)


def test_a_task_whose_drawn_programs_all_failed_is_left_out() -> None:
    data = easy_set(tasks=30)
    costs = np.where(np.diff(data.programs.tasks, prepend=-1) > 0, 1.0, np.inf)
    rare = replace(data, programs=TaskCosts.of(costs, data.programs.tasks))
    found = draw_subset(rare, np.random.default_rng(0))
    assert 0 < len(found.tasks) < 30
    assert np.isfinite(found.programs.least).all()


def test_stacked_sets_keep_their_tasks_apart() -> None:
    data = two_tasks([[1], [10], [4], [20], [2]])
    found = stack_sets([data, data.take(np.array([0, 1]))])
    assert found.programs.tasks.tolist() == [0, 1, 0, 1, 0, 2, 3]
    assert [task.name for task in found.tasks] == ["three", "two", "three", "two"]


def test_labels_of_a_stacked_subset_are_relative_to_its_own_best() -> None:
    data = easy_set(tasks=1)
    slowest = np.argsort(-data.programs.costs)[:20]
    assert stack_sets([data, data.take(slowest)]).programs.labels[len(data) :].max() == 1


@pytest.mark.parametrize("programs", [1, 2])
def test_tiny_tasks_are_no_trouble(programs: int) -> None:
    data = easy_set(tasks=4, programs=programs)
    found = beside_median(draw_subset(data, np.random.default_rng(0)))
    assert found.rows.shape == (len(data), 8)
