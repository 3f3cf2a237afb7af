"""The rank test, its interval, and the false discovery rate over graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.compare.ranks import LARGEST, Ragged, adjust_p_values, lower_tail, measure_shifts

Matrix = npt.NDArray[np.float64]


def ragged(rows: Matrix) -> Ragged:
    return Ragged(rows.reshape(-1), np.full(len(rows), rows.shape[1]))


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 4), (4, 4), (5, 2)])
def test_the_tail_is_counted_out(first: int, second: int) -> None:
    """Every way the two samples may lie among each other is equally likely."""
    counts = np.zeros(first * second + 1)
    for places in combinations(range(first + second), first):
        counts[sum(place - rank for rank, place in enumerate(places))] += 1
    expected = np.cumsum(counts) / counts.sum()
    assert lower_tail(first, second) == pytest.approx(expected)


def test_the_smallest_p_value_is_that_of_all_on_one_side() -> None:
    found = measure_shifts(
        ragged(np.arange(8.0)[None]), ragged(np.arange(8.0)[None] + 9), np.zeros(1), 0.95
    )
    assert found.p[0] == pytest.approx(2 / 12870)
    assert found.value[0] == 9


def test_what_lies_within_the_margin_is_no_evidence() -> None:
    a, b = ragged(np.zeros((1, 8))), ragged(np.full((1, 8), 0.04))
    assert measure_shifts(a, b, np.array([0.05]), 0.95).p[0] == 1
    assert measure_shifts(a, b, np.array([0.03]), 0.95).p[0] < 0.001


def test_equal_samples_are_no_evidence() -> None:
    same = ragged(np.zeros((1, 12)))
    assert measure_shifts(same, same, np.zeros(1), 0.95).p[0] == 1


def test_rows_of_different_lengths_stay_apart() -> None:
    random = np.random.default_rng(0)
    counts = np.array([8, 12, 8, 60, 12])
    first, second = (Ragged(random.normal(size=int(counts.sum())), counts) for _ in range(2))
    together = measure_shifts(first, second, np.zeros(5), 0.95)
    for row in range(5):
        alone = [side.take(np.array([row])) for side in (first, second)]
        single = measure_shifts(alone[0], alone[1], np.zeros(1), 0.95)
        for name in ("value", "low", "high", "p"):
            assert getattr(together, name)[row] == getattr(single, name)[0]


def test_long_samples_are_thinned_not_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(1, 10 * LARGEST))
    found = measure_shifts(ragged(rows), ragged(rows + 3), np.zeros(1), 0.95)
    assert found.p[0] < 1e-10
    assert found.value[0] == pytest.approx(3, abs=0.1)


@given(st.integers(0, 1000))
def test_the_interval_says_what_the_test_says(seed: int) -> None:
    """A margin is refuted at 5 % where the 95 % interval lies beyond it, and only there."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(6, 9)), random.normal(random.normal(size=(6, 1)), 1.0, (6, 13))
    margin = np.abs(random.normal(0, 0.2, 6))
    found = measure_shifts(ragged(a), ragged(b), margin, 0.95)
    beyond = (found.low > margin) | (found.high < -margin)
    assert beyond.tolist() == (found.p <= 0.05).tolist()
    assert ((found.low <= found.value) & (found.value <= found.high)).all()


def test_the_interval_holds_the_shift_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    a, b = random.standard_t(3, (4000, 8)), random.standard_t(3, (4000, 20)) + 0.7
    found = measure_shifts(ragged(a), ragged(b), np.zeros(4000), 0.95)
    held = ((found.low <= 0.7) & (found.high >= 0.7)).mean()
    assert 0.94 <= held <= 0.98


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 0.3))
def test_adjusted_values_are_the_step_up_rule(p_values: list[float], q: float) -> None:
    p = np.array(p_values)
    ordered = np.sort(p)
    steps = np.flatnonzero(ordered * len(p) / np.arange(1, len(p) + 1) <= q)
    limit = ordered[steps[-1]] if len(steps) else -1.0
    assert (adjust_p_values(p) <= q).tolist() == (p <= limit).tolist()


def simulated(runs: int, shifted: int, heavy: bool, margin: float, seed: int) -> Matrix:
    """Adjusted p-values of so many runs of 60 graphs, the first ``shifted`` changed by 10 %.

    All others lie on the very edge of what is tolerated: the hardest case there is.
    """
    random = np.random.default_rng(seed)
    graphs = 60 * runs
    sizes = random.choice([8, 9, 14, 23], (graphs, 2))
    scale = np.exp(random.normal(np.log(0.01), 0.7, graphs))
    moved = np.where(np.arange(graphs) % 60 < shifted, 0.1, margin)

    def side(number: int) -> Ragged:
        counts = sizes[:, number]
        total = int(counts.sum())
        noise = random.standard_t(2, total) if heavy else random.normal(size=total)
        return Ragged(np.repeat(moved * number, counts) + noise * np.repeat(scale, counts), counts)

    p = measure_shifts(side(0), side(1), np.full(graphs, margin), 0.95).p
    return np.stack([adjust_p_values(row) for row in p.reshape(runs, 60)])


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_where_nothing_changed_few_runs_find_anything(heavy: bool, margin: float) -> None:
    found = simulated(1000, 0, heavy, margin, seed=7) <= 0.05
    # At most 5 % are expected; three standard deviations of 1,000 tosses are 2.1 % more.
    assert found.any(axis=1).mean() <= 0.071
    assert found.any(), "and the rule is not so strict that it never finds anything"


def test_among_true_findings_the_share_of_false_ones_stays_low() -> None:
    found = simulated(300, 20, heavy=False, margin=0.0, seed=8) <= 0.05
    shares = found[:, 20:].sum(axis=1) / np.maximum(1, found.sum(axis=1))
    assert shares.mean() <= 0.055
    assert found[:, :20].mean() >= 0.9
