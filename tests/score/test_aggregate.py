"""Aggregates: weights that add up, and a mean where the mean is known."""

from __future__ import annotations

import math

import pytest

from graph_net.score import (
    Fault,
    ScoredGraph,
    columns,
    graphnet_aggregate,
    passbench_aggregate,
    score,
)
from graph_net.score.aggregate import GRAPHNET, PASSBENCH


def test_a_constant_curve_is_its_own_mean() -> None:
    found = score(columns([ScoredGraph(2.0, -64.0)]))
    assert graphnet_aggregate(found)[0] == pytest.approx(math.log10(2.0))
    assert passbench_aggregate(found)[0] == pytest.approx(2.0)


def test_each_level_has_its_weight() -> None:
    # Right from t = -6 on: of the weights only those before count for the failure.
    found = score(columns([ScoredGraph(1.0, -6.0)]))
    assert graphnet_aggregate(found)[0] == pytest.approx(-0.133 / (0.133 + 0.40 + 4.8))
    # Compiling fails: tolerated from t = 3 on, where 4.951424 of 5.957... is behind.
    failed = score(columns([ScoredGraph(None, None, Fault.COMPILE)]))
    before = 5 * 0.001 + 3 + 0.8 + 0.64 + 0.512 + 0.4096 + 0.32768
    assert passbench_aggregate(failed)[0] == pytest.approx(10 ** (-before / (before + 0.263144)))


def test_weights_add_up_to_one() -> None:
    assert GRAPHNET.sum() == pytest.approx(1)
    assert PASSBENCH.sum() == pytest.approx(1)


def test_an_aggregate_needs_the_whole_ladder() -> None:
    with pytest.raises(ValueError, match="every whole t"):
        graphnet_aggregate(score(columns([ScoredGraph(2.0, -5.0)]), ts=[0, 1]))
