"""Candidates of a task beside each other: what sets one apart from the others."""

from __future__ import annotations

import numpy as np
import pytest

from graph_net.programs.features.ansor_candidates import CANDIDATE_NAMES, encode_candidates
from graph_net.programs.features.feature_kinds import ANSOR_DEVICE, KINDS
from graph_net.programs.spaces.ansor_gpu import NAMES, encode_gpu
from graph_net.programs.spaces.gpus import find_gpu
from programs.spaces.ansor_schedules import CONVOLUTION, CONVOLUTION_SCHEDULE, convolution

V100 = find_gpu("V100")
CANDIDATES = [
    CONVOLUTION_SCHEDULE,
    convolution([1, 8, 2, 2], [1, 12, 1, 7], [1, 1, 1, 1], [3, 7, 1, 1], [6, 1]),
    convolution([1, 2, 2, 2], [1, 12, 1, 7], [1, 1, 1, 1], [3, 7, 1, 1], [6, 1]),
]
"""Of 336, 672 and 168 threads; all else that a thread has is equal."""


def test_numbers_are_followed_by_their_differences_from_the_median() -> None:
    rows = encode_candidates(CONVOLUTION, CANDIDATES, V100)
    assert np.array_equal(rows[:, : len(NAMES)], encode_gpu(CONVOLUTION, CANDIDATES, V100))
    assert rows[:, CANDIDATE_NAMES.index("threads_beside")] == pytest.approx([0, 1, -1], abs=1e-5)
    assert not rows[:, CANDIDATE_NAMES.index("work_beside")].any()


def test_no_candidates_are_no_rows() -> None:
    assert encode_candidates(CONVOLUTION, [], V100).shape == (0, len(CANDIDATE_NAMES))


def test_the_kind_of_a_row_has_a_number_for_each_name() -> None:
    assert KINDS["ansor_gpu"] is ANSOR_DEVICE
    assert [column.width for column in ANSOR_DEVICE.columns] == [len(NAMES)]
