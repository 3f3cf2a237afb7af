"""Two models on the same tasks."""

import numpy as np
import pytest

from graph_net.learn.metrics import MetricError
from graph_net.learn.paired import compare_models

CHANCE = np.random.default_rng(1)


def test_a_model_that_is_better_on_every_task_is_better() -> None:
    other = CHANCE.uniform(0.5, 0.9, 40)
    (result,) = compare_models(other + 0.05, other)
    assert (result.kind, result.tasks) == ("all", 40)
    assert result.value == pytest.approx(0.05)
    assert result.is_better
    assert not result.is_worse


def test_noise_is_no_difference() -> None:
    """Of 40 comparisons of equal models about two are called different."""
    wrong = 0
    for seed in range(40):
        first, second = CHANCE.uniform(0, 1, (2, 60))
        (result,) = compare_models(first, second, seed=seed)
        wrong += result.is_better or result.is_worse
    assert wrong <= 7


def test_each_kind_of_operator_has_its_own_result() -> None:
    kinds = ["conv2d"] * 30 + ["matmul"] * 30
    better = np.concatenate([np.full(30, 0.9), np.full(30, 0.5)])
    results = compare_models(better, np.full(60, 0.7), kinds)
    assert [(result.kind, result.tasks) for result in results] == [
        ("all", 60), ("conv2d", 30), ("matmul", 30),
    ]  # fmt: skip
    assert results[1].is_better
    assert results[2].is_worse


def test_one_task_has_no_interval() -> None:
    (result,) = compare_models([0.9], [0.5])
    assert not result.is_better
    assert result.value == pytest.approx(0.4)


def test_other_tasks_are_not_compared() -> None:
    with pytest.raises(MetricError, match="same tasks"):
        compare_models([1.0], [1.0, 0.5])
    with pytest.raises(MetricError, match="1 kinds of 2"):
        compare_models([1.0, 1.0], [1.0, 0.5], ["conv2d"])
