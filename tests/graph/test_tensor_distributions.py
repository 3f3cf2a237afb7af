"""Drawn values are distributed as their recipe says.

They are deterministic, so a statistical test here passes always or never.
"""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.graph import random_bits as bits
from graph_net.graph.recipe import (
    SHRINK,
    Bernoulli,
    Integers,
    Normal,
    Uniform,
)
from graph_net.graph.tensors import draw

MANY = 1 << 20
STANDARD = Normal(0.0, 1.0 / SHRINK)


def normals(name: str = "weight", seed: int = 0, count: int = MANY) -> npt.NDArray[np.float64]:
    values = draw(STANDARD, (count,), "float32", name=name, seed=seed)
    return values.double().numpy()


def correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """The correlation, in units of its standard deviation for independent values."""
    return float(np.corrcoef(a, b)[0, 1]) * math.sqrt(len(a))


def chi_square(counts: npt.NDArray[np.int64], expected: float) -> float:
    """The excess of chi-square over its mean, in units of its standard deviation."""
    freedom = len(counts) - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom))


def test_normal_values_have_the_moments_of_a_normal_variable() -> None:
    values = normals()
    assert abs(values.mean()) < 3 / math.sqrt(MANY)
    assert abs(values.std() - 1) < 3 / math.sqrt(2 * MANY)
    assert abs((values**3).mean()) < 3 * math.sqrt(15 / MANY)
    assert abs((values**4).mean() - 3) < 3 * math.sqrt(96 / MANY)


@pytest.mark.parametrize("offset", [0, 1])
def test_normal_values_fill_quantiles_evenly(offset: int) -> None:
    edges = [NormalDist().inv_cdf((k + 0.5 * offset) / 1000) for k in range(1 - offset, 1000)]
    counts = np.diff(np.searchsorted(np.sort(normals()), edges))
    assert abs(chi_square(counts, MANY / 1000)) < 3.5


@pytest.mark.parametrize("bound", [3.0, 4.0, 4.5])
def test_normal_values_have_the_tails_of_a_normal_variable(bound: float) -> None:
    count = 16 * MANY
    expected = count * 2 * NormalDist().cdf(-bound)
    seen = int((np.abs(normals(count=count)) > bound).sum())
    assert abs(seen - expected) < 3.5 * math.sqrt(expected)


def test_no_normal_value_is_beyond_the_largest() -> None:
    table = bits.normal_quantiles()
    assert np.array_equal(table, np.sort(table))
    assert np.array_equal(table, -table[::-1])
    assert table[-1] * math.sqrt(2) < bits.LARGEST_NORMAL


def test_ties_are_rare() -> None:
    assert len(np.unique(normals(count=50_000))) > 0.99 * 50_000


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 512, 1024, 2047, 2048, 2049, 4096, 8192, 131_072])
def test_values_do_not_depend_on_earlier_ones(lag: int) -> None:
    values = normals()
    for power in (1, 2, 3):
        assert abs(correlation(values[:-lag] ** power, values[lag:] ** power)) < 3.5


def test_partners_are_independent_bin_by_bin() -> None:
    blocks = normals().reshape(-1, 2, 2048)
    ranks = np.floor(0.5 * (1 + torch.erf(torch.from_numpy(blocks) / math.sqrt(2))).numpy() * 32)
    cells = np.bincount((ranks[:, 0] * 32 + ranks[:, 1]).astype(np.int64).ravel(), minlength=1024)
    assert abs(chi_square(cells, MANY / 2 / 1024)) < 3.5


@pytest.mark.parametrize(
    ("name", "seed"), [("weight", 1), ("weight", 2**70), ("weight", -1), ("weighu", 0), ("", 0)]
)
def test_names_and_seeds_give_unrelated_values(name: str, seed: int) -> None:
    here, there = normals(), normals(name, seed)
    for power in (1, 2):
        assert abs(correlation(here**power, there**power)) < 3.5


def test_many_names_give_different_streams() -> None:
    streams = {bits.stream(f"layers.{layer}.weight", 0) for layer in range(10_000)}
    assert len({stream.key for stream in streams}) == 10_000
    assert len({stream.gamma for stream in streams}) == 10_000
    assert all(stream.gamma % 2 for stream in streams)


def test_first_values_of_many_names_are_normal() -> None:
    firsts = np.array([normals(f"bias.{index}", count=1)[0] for index in range(2000)])
    assert abs(firsts.mean()) < 3 / math.sqrt(2000)
    assert abs(firsts.std() - 1) < 3 / math.sqrt(4000)


def test_each_bit_of_the_words_is_fair_and_alone() -> None:
    space = bits.Workspace(bits.stream("weight", 0), np, None, 64 * bits.BLOCK_WORDS)
    words = space.words(0, 64).view(np.uint8)
    table = np.unpackbits(words).reshape(-1, 64).astype(np.float64) - 0.5
    related = table.T @ table * 4 / math.sqrt(len(table))
    np.fill_diagonal(related, 0)
    assert np.abs(related).max() < 4.8
    assert np.abs(table.sum(0) * 2 / math.sqrt(len(table))).max() < 4


def test_uniform_values_fill_their_range_evenly() -> None:
    values = draw(Uniform(-3.0, 5.0), (MANY,), "float32", name="weight").double().numpy()
    assert values.min() >= -3
    assert values.max() <= 5
    counts = np.bincount(((values + 3) / 8 * 1000).astype(np.int64), minlength=1000)
    assert abs(chi_square(counts, MANY / 1000)) < 3.5


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-7, 5), (0, 999), (2**40, 2**40 + 99)])
def test_integers_are_equally_likely(low: int, high: int) -> None:
    values = draw(Integers(low, high), (MANY,), "int64", name="ids").numpy()
    counts = np.bincount(values - low, minlength=high - low + 1)
    assert len(counts) == high - low + 1
    assert len(counts) == 1 or abs(chi_square(counts, MANY / len(counts))) < 3.5


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1))
@settings(max_examples=60, deadline=None)
def test_wide_integers_are_the_exact_product(low: int, width: int) -> None:
    high = min(low + max(width, 1 << 24), 2**63 - 1)
    if high - low < 1 << 24:
        low = high - (1 << 24)
    values = draw(Integers(low, high), (8,), "int64", name="ids").tolist()
    words = bits.Workspace(bits.stream("ids", 0), np, None, 1024).words(0, 1).view(np.uint64)
    assert values == [low + (int(word) * (high - low + 1) >> 64) for word in words[:8]]


def test_integers_reach_the_whole_of_uint64() -> None:
    values = draw(Integers(0, 2**64 - 1), (10_000,), "uint64", name="ids").tolist()
    assert min(values) < 2**52
    assert max(values) > 2**64 - 2**52


@pytest.mark.parametrize("p", [0.0, 0.001, 0.5, 0.9, 1.0])
def test_truth_values_come_with_their_probability(p: float) -> None:
    seen = int(draw(Bernoulli(p), (MANY,), "bool", name="mask").sum())
    assert abs(seen - p * MANY) <= 3.5 * math.sqrt(p * (1 - p) * MANY)
