"""Scores of any unit, as logarithms of labels."""

import numpy as np
import pytest

from graph_net.learn.score_scale import LEAST_LABEL, ScoreScale, log_labels
from graph_net.testing.cost_model import easy_set


def test_a_program_that_failed_has_the_least_label() -> None:
    data = easy_set()
    failed = ~np.isfinite(data.programs.costs)
    assert failed.any()
    assert log_labels(data)[failed] == pytest.approx(np.log(LEAST_LABEL))


def test_the_scale_of_scores_is_found_whatever_each_task_adds_to_them() -> None:
    data = easy_set()
    shifts = np.arange(len(data.tasks))[data.programs.tasks]
    scale = ScoreScale.fit(log_labels(data) / 7 + shifts, data)
    assert scale.slope == pytest.approx(7)


def test_scores_become_log_labels() -> None:
    data = easy_set()
    ran = np.isfinite(data.programs.costs)
    scores = 3 * log_labels(data) + 2
    np.testing.assert_allclose(
        ScoreScale.fit(scores, data).apply(scores)[ran], log_labels(data)[ran], atol=1e-9
    )


def test_a_model_that_is_worse_than_chance_counts_nothing() -> None:
    data = easy_set()
    assert ScoreScale.fit(-log_labels(data), data).slope == 0
