"""Sets of programs to learn from."""

from dataclasses import fields

import numpy as np
import pytest

from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask
from graph_net.learn.metrics import TaskCosts

TASKS = tuple(LearningTask(name, weights={"net": 2.0}) for name in "abc")


def ragged() -> LearningSet:
    """Four programs of three tasks with 1, 2, 3 and 1 rows, numbered."""
    starts = np.array([0, 1, 3, 6, 7])
    rows = np.arange(7, dtype=np.float32)[:, None]
    return LearningSet(
        ("n",), rows, starts, TaskCosts.of([1.0, 2.0, 3.0, 4.0], [0, 2, 1, 2]), TASKS
    )


def test_selected_tasks_keep_their_programs_and_rows() -> None:
    chosen = ragged().select([2, 0])
    assert [task.name for task in chosen.tasks] == ["c", "a"]
    assert chosen.programs.costs.tolist() == [1.0, 2.0, 4.0]
    assert chosen.programs.tasks.tolist() == [1, 0, 0]
    assert chosen.rows[:, 0].tolist() == [0, 1, 2, 6]
    assert chosen.starts.tolist() == [0, 1, 3, 4]


def test_tasks_without_a_program_left_are_gone() -> None:
    chosen = ragged().take(np.array([3, 2]))
    assert [task.name for task in chosen.tasks] == ["b", "c"]
    assert chosen.programs.costs.tolist() == [4.0, 3.0]
    assert chosen.rows[:, 0].tolist() == [6, 3, 4, 5]


def test_weights_are_of_task_indices() -> None:
    assert ragged().weights == {"net": {0: 2.0, 1: 2.0, 2: 2.0}}
    assert ragged().select([1]).weights == {"net": {0: 2.0}}


def test_rows_know_their_program() -> None:
    assert ragged().owners.tolist() == [0, 1, 1, 2, 2, 2, 3]
    assert not ragged().is_tabular


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"columns": ("n", "m")}, "numbers for 2 names"),
        ({"starts": np.array([0, 1, 3, 6])}, "does not divide"),
        ({"starts": np.array([0, 1, 1, 6, 7])}, "has no row of features"),
        ({"tasks": TASKS[:2]}, "2 tasks are described, 3 are used"),
        ({"rows": np.full((7, 1), np.nan, np.float32)}, "finite"),
    ],
)
def test_a_set_that_does_not_fit_together_is_refused(changes: dict[str, object], why: str) -> None:
    good = {field.name: getattr(ragged(), field.name) for field in fields(ragged())}
    with pytest.raises(LearnError, match=why):
        LearningSet(**{**good, **changes})
