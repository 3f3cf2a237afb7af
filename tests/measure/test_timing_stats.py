"""What samples say: ratios, intervals, verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from graph_net.measure.stats import block_logs, half_width, judge, median_interval
from graph_net.results import Interval, Verdict

QUIET = Interval(1.0, 0.999, 1.001)


def test_a_block_is_told_by_its_quickest_samples() -> None:
    logs = block_logs([2.0, 9.0, 4.0, 7.0], [1.0, 50.0, 60.0, 2.0], per_block=2)
    assert np.allclose(np.exp(logs), [2.0, 2.0])


def test_the_interval_holds_the_median() -> None:
    logs = np.random.default_rng(0).normal(0.1, 0.02, 40)
    found = median_interval(logs, 0.99)
    assert found.low < np.exp(0.1) < found.high
    assert found.value == pytest.approx(np.exp(np.median(logs)))


def test_more_blocks_make_it_narrower() -> None:
    draw = np.random.default_rng(1).normal(0, 0.05, 400)
    assert (
        half_width(median_interval(draw, 0.99)) < half_width(median_interval(draw[:20], 0.99)) / 2
    )


@pytest.mark.parametrize("blocks", [8, 12, 20, 60])
def test_the_interval_covers_as_often_as_it_says(blocks: int) -> None:
    draws = np.random.default_rng(3).exponential(1.0, (4000, blocks))
    truth = np.exp(np.log(2.0))
    held = [found.low <= truth <= found.high for found in (median_interval(d, 0.99) for d in draws)]
    assert np.mean(held) >= 0.983  # four standard errors below 99 %


def test_noise_counts_the_same_in_both_directions() -> None:
    slower = Interval(0.6, 0.55, 0.65)
    assert judge(slower, Interval(0.7, 0.5, 1.0), 0.02).verdict is Verdict.AMBIGUOUS
    assert judge(slower, Interval(1.4, 1.0, 2.0), 0.02).verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize(
    ("speedup", "noise", "verdict"),
    [
        (Interval(1.5, 1.4, 1.6), QUIET, Verdict.FASTER),
        (Interval(0.5, 0.4, 0.6), QUIET, Verdict.SLOWER),
        (Interval(1.0, 0.995, 1.005), QUIET, Verdict.SAME),
        (Interval(1.0, 0.9, 1.1), QUIET, Verdict.AMBIGUOUS),
        (Interval(1.05, 1.01, 1.1), QUIET, Verdict.AMBIGUOUS),
        (Interval(1.05, 1.04, 1.06), Interval(1.0, 0.9, 1.1), Verdict.AMBIGUOUS),
        (Interval(1.5, 1.4, 1.6), Interval(1.0, 0.9, 1.1), Verdict.FASTER),
    ],
)
def test_a_verdict_needs_the_whole_interval_beyond_margin_and_noise(
    speedup: Interval, noise: Interval, verdict: Verdict
) -> None:
    assert judge(speedup, noise, 0.02).verdict is verdict


def test_an_ambiguous_verdict_has_a_reason() -> None:
    assert "noisy" in judge(Interval(1.05, 1.04, 1.06), Interval(1, 0.9, 1.1), 0.02).reason
    assert "between" in judge(Interval(1.0, 0.9, 1.1), QUIET, 0.02).reason
