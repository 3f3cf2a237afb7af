"""Decimal numbers as integers come back to the last bit, or are told not to."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.store.decimals import Decimals, decimals

printed = st.floats(1e-12, 1e8).map(lambda value: float(f"{value:.6g}"))
rows = st.lists(st.lists(printed | st.floats(0, 1e300), max_size=5), min_size=1, max_size=6)


def encoded(table: list[list[float]]) -> Decimals:
    flat = np.array([value for row in table for value in row], np.float64)
    return decimals(flat, np.array([len(row) for row in table], np.int64))


def back(table: list[list[float]], found: Decimals) -> list[list[float] | None]:
    """The rows that are exact, as they are defined."""
    spread = iter(found.spread.tolist())
    rows: list[list[float] | None] = []
    for number, row in enumerate(table):
        away = [next(spread) for _ in row[1:]]
        total = int(found.totals[number])
        whole = [total // len(row) + (-(z // 2) - 1 if z % 2 else z // 2) for z in away]
        whole += [total - sum(whole)] if row else []
        power = 10.0 ** int(found.units[number])
        rows.append([one / power for one in whole] if found.exact[number] else None)
    return rows


@given(rows)
def test_an_exact_row_comes_back(table: list[list[float]]) -> None:
    for given_row, row in zip(table, back(table, encoded(table)), strict=True):
        assert row is None or row == given_row


@given(st.floats(1e-9, 1e3), st.lists(st.floats(0.7, 1.3), min_size=1, max_size=9))
def test_repeats_of_six_digits_are_exact(cost: float, noise: list[float]) -> None:
    row = [float(f"{cost * factor:.6g}") for factor in noise]
    assert back([row], encoded([row])) == [row]


def test_binary_fractions_and_far_numbers_are_told() -> None:
    found = encoded([[1 / 3], [0.1], [0.0], [], [1e-12, 1e6]])
    assert found.exact.tolist() == [False, True, True, True, False]


def test_close_repeats_are_small_numbers() -> None:
    found = encoded([[0.000398768, 0.000398769, 0.0003987]])
    assert (found.units.tolist(), found.totals.tolist()) == ([9], [398768 + 398769 + 398700])
    assert found.spread.tolist() == [2 * 23, 2 * 24]
