"""Tolerance levels: GraphNet's numbers, and the smallest one that passes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_net.measure.tolerance import HIGHEST, LOWEST, PRECISION, smallest_level, tolerance


@pytest.mark.parametrize(
    ("t", "dtype", "text"),
    [
        (-10, torch.float16, "1.00E-10 1.00E-06"),
        (-10, torch.bfloat16, "1.00E-10 2.56E-04"),
        (-10, torch.float32, "1.00E-10 1.69E-12"),
        (-10, torch.float64, "1.00E-14 1.00E-14"),
        (-5, torch.float32, "1.00E-05 1.30E-06"),
        (5, torch.bfloat16, "1.00E+05 6.25E+01"),
        (5, torch.float32, "1.00E+05 7.69E+05"),
    ],
)
def test_levels_are_those_of_graphnets_logs(t: int, dtype: torch.dtype, text: str) -> None:
    absolute, relative = tolerance(t, dtype)
    assert f"{absolute:.2E} {relative:.2E}" == text


def test_equal_tensors_pass_at_the_lowest_level() -> None:
    x = torch.tensor([1.0, float("nan"), float("inf")])
    assert smallest_level(x, x.clone()) == LOWEST


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8])
def test_other_dtypes_must_be_equal(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1], dtype=dtype)
    assert smallest_level(x, x.clone()) == LOWEST
    assert smallest_level(x, x.flip(0)) is None


def test_what_is_not_finite_passes_nowhere() -> None:
    x = torch.tensor([1.0, 2.0])
    assert smallest_level(torch.tensor([1.0, float("nan")]), x) is None
    assert smallest_level(torch.tensor([1.0, float("inf")]), x) is None
    assert smallest_level(x, torch.tensor([1.0, float("-inf")])) is None


def test_shapes_that_differ_pass_nowhere() -> None:
    assert smallest_level(torch.zeros(2), torch.zeros(3)) is None


def test_an_error_beyond_all_levels_passes_nowhere() -> None:
    x = torch.tensor([0.0], dtype=torch.float64)
    assert smallest_level(torch.tensor([1e300], dtype=torch.float64), x) is None


finite = st.floats(-1e6, 1e6, width=32)


@given(
    st.lists(st.tuples(finite, finite), min_size=1, max_size=20),
    st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
)
def test_it_is_the_smallest(pairs: list[tuple[float, float]], family: torch.dtype) -> None:
    found, want = (torch.tensor(values, dtype=torch.float64) for values in zip(*pairs, strict=True))
    level = smallest_level(found, want, family)
    assert level is not None

    def passes(t: float) -> bool:
        absolute, relative = tolerance(t, family)
        return bool(((found - want).abs() <= absolute + relative * want.abs()).all())

    if level == LOWEST:
        assert torch.equal(found, want)
        return
    assert passes(level)
    assert level <= LOWEST + PRECISION or not passes(level - 2 * PRECISION)
    assert level <= HIGHEST
    assert math.isfinite(level)
