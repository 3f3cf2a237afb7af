"""Kinds of features: what a row of each holds."""

from __future__ import annotations

from graph_net.programs.features.feature_kinds import ANSOR_DEVICE, KINDS
from graph_net.programs.spaces.ansor_gpu import NAMES


def test_a_row_of_ansors_gpu_features_has_a_number_for_each_name() -> None:
    assert KINDS["ansor_gpu"] is ANSOR_DEVICE
    assert [column.width for column in ANSOR_DEVICE.columns] == [len(NAMES)]
