"""Tensors from recipes: reproducible to the last bit, by rules that are few."""

import hashlib
import math
from statistics import NormalDist

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_net.graph import random_bits as bits
from graph_net.graph import tensors
from graph_net.graph.recipe import (
    SHRINK,
    Bernoulli,
    Constant,
    Integers,
    Literal,
    Normal,
    Recipe,
    Uniform,
)
from graph_net.graph.tensors import LIMIT, draw, draw_range
from graph_net.graph.values import DTYPES

MANY = 1 << 20
RANDOM = (
    Normal(0.0, 1.0),
    Normal(0.3, 20.0, low=-1.0, high=2.5),
    Uniform(-1.0, 2.0),
    Integers(-5, 1000),
    Integers(-(2**40), 2**41),
    Bernoulli(0.3),
)
DRAWN_DTYPES = sorted(name for name in DTYPES if not name.startswith("q"))
REAL_DTYPES = [name for name in DRAWN_DTYPES if not name.startswith("complex")]
STANDARD = Normal(0.0, 1.0 / SHRINK)
pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf")


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes()


# -- the same values everywhere ------------------------------------------------------------------

GOLDEN = {
    (Normal(0.0, 1.0), "float32"): "0cf2be10481881fe",
    (Normal(0.5, 0.02, -1.0, 1.0), "bfloat16"): "dff2e68a02658831",
    (Normal(None, None), "complex64"): "7e2d8a29a5efb7d2",
    (Normal(3.0, 40.0), "int64"): "baed85187334350e",
    (Uniform(-1.0, 2.0), "float32"): "d718304193dd87d1",
    (Integers(0, 50_256), "int64"): "3f264c274e748364",
    (Integers(-(2**63), 2**63 - 1), "int64"): "10b19214de81489a",
    (Bernoulli(0.25), "bool"): "798ddf6d93cbc7b4",
    (Normal(0.0, 10.0), "float8_e4m3fn"): "6841dc0259feaf1d",
}


@pytest.mark.parametrize(("recipe", "dtype"), GOLDEN)
def test_values_stay_as_they_were(recipe: Recipe, dtype: str) -> None:
    values = draw(recipe, (77, 131), dtype, name="layer.0.weight", seed=7)
    assert hashlib.sha256(raw(values)).hexdigest()[:16] == GOLDEN[recipe, dtype]


def test_quantiles_stay_as_they_were() -> None:
    assert hashlib.sha256(bits.normal_quantiles().tobytes()).hexdigest()[:16] == "c626a2537fccfd81"


def test_no_quantile_is_near_a_rounding_boundary() -> None:
    lanes = range(bits.LANES // 2)
    exact = np.array([NormalDist().inv_cdf((lane + 0.5) / bits.LANES) for lane in lanes]) * 2**20
    to_boundary = np.abs(exact - np.floor(exact) - 0.5).min()
    error_of_libm = 2**20 * 5 * 16 * np.finfo(np.float64).eps
    assert to_boundary > 100 * error_of_libm


def test_words_are_those_of_splitmix64() -> None:
    stream = bits.stream("weight", 3)
    space = bits.Workspace(stream, np, None, 2 * bits.BLOCK_WORDS)
    words = space.words(5, 2).view(np.uint64).tolist()
    for place in (0, 1, 1023, 1024, 2047):
        word = (stream.key + (5 * bits.BLOCK_WORDS + place) * stream.gamma) % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        assert words[place] == word ^ word >> 31


@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("recipe", RANDOM, ids=str)
def test_torch_computes_what_numpy_computes(recipe: Recipe, dtype: str) -> None:
    by_numpy = draw_range(recipe, 4000, 21_001, dtype, name="weight")
    by_torch = torch.empty_like(by_numpy)
    plan = tensors.plan_of(recipe, by_numpy.dtype)  # type: ignore[arg-type]
    tensors._fill(by_torch, 4000, plan, bits.stream("weight", 0), torch)
    assert raw(by_torch) == raw(by_numpy)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", DRAWN_DTYPES)
def test_a_gpu_draws_what_a_cpu_draws(dtype: str) -> None:
    for recipe in (*RANDOM, Constant(1), Literal((1, 0) * 100_000)):
        here = draw(recipe, (200_000,), dtype, name="weight")
        there = draw(recipe, (200_000,), dtype, name="weight", device="cuda")
        assert there.is_cuda
        assert raw(there) == raw(here), recipe


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_threads_do_not_matter(dtype: str) -> None:
    threads, count = torch.get_num_threads(), 3 * MANY + 5
    try:
        torch.set_num_threads(1)
        alone = draw(STANDARD, (count,), dtype, name="weight")
        torch.set_num_threads(3)
        together = draw(STANDARD, (count,), dtype, name="weight")
    finally:
        torch.set_num_threads(threads)
    assert raw(alone) == raw(together)


@given(
    recipe=st.sampled_from((*RANDOM, Normal(1.0, 0.0), Constant(2), Literal((1, 2, 3) * 10_000))),
    dtype=st.sampled_from(("float32", "bfloat16", "int32", "uint8", "bool", "complex64")),
    ends=st.tuples(st.integers(0, 30_000), st.integers(0, 30_000)).map(sorted),
)
@settings(max_examples=80, deadline=None)
def test_any_part_equals_that_part_of_the_whole(
    recipe: Recipe, dtype: str, ends: list[int]
) -> None:
    start, stop = ends
    whole = draw(recipe, (3, 100, 100), dtype, name="weight", seed=1)
    part = draw_range(recipe, start, stop, dtype, name="weight", seed=1)
    assert part.shape == (stop - start,)
    assert raw(part) == raw(whole.flatten()[start:stop])


def test_a_part_far_inside_a_huge_tensor_is_drawn_alone() -> None:
    far = 10**15
    part = draw_range(STANDARD, far, far + 10, "float32", name="weight")
    longer = draw_range(STANDARD, far - 5000, far + 5000, "float32", name="weight")
    assert torch.equal(part, longer[5000:5010])


def test_a_larger_tensor_begins_with_the_smaller_one() -> None:
    small = draw(STANDARD, (10, 10), "float32", name="weight")
    large = draw(STANDARD, (5, 4000), "float32", name="weight")
    assert torch.equal(small.flatten(), large.flatten()[:100])


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "float8_e5m2"])
def test_other_floats_are_the_float32_values_cast(dtype: str) -> None:
    base = draw(STANDARD, (10_000,), "float32", name="weight")
    cast = draw(STANDARD, (10_000,), dtype, name="weight")
    assert raw(cast) == raw(base.to(getattr(torch, dtype)))


def test_complex_values_are_pairs_of_real_ones() -> None:
    pairs = draw(STANDARD, (500, 2), "float32", name="weight")
    assert torch.equal(
        torch.view_as_real(draw(STANDARD, (500,), "complex64", name="weight")), pairs
    )


@pytest.mark.parametrize("dtype", DRAWN_DTYPES)
@pytest.mark.parametrize("recipe", [*RANDOM, Normal(None, 0.0), Constant(1)], ids=str)
def test_every_recipe_draws_every_dtype(recipe: Recipe, dtype: str) -> None:
    values = draw(recipe, (2, 3), dtype, name="weight")
    assert values.dtype == getattr(torch, dtype)
    assert values.shape == (2, 3)
    assert values.is_contiguous()
    assert draw(recipe, (0, 3), dtype, name="weight").shape == (0, 3)
    assert draw(recipe, (), dtype, name="weight").shape == ()
    if not dtype.startswith("complex"):
        assert values.double().isfinite().all()


def test_large_memory_is_aligned_as_torch_aligns() -> None:
    assert draw(STANDARD, (MANY,), "bfloat16", name="weight").data_ptr() % 64 == 0
    assert draw(STANDARD, (3 * MANY,), "float32", name="weight").data_ptr() % 64 == 0


# -- the rules of drawing ------------------------------------------------------------------------


def test_normal_is_drawn_at_a_fifth_of_the_recorded_spread() -> None:
    values = draw(Normal(0.5, 2.0), (MANY,), "float32", name="weight").double()
    assert values.mean().item() == pytest.approx(0.5, abs=2e-3)
    assert values.std().item() == pytest.approx(SHRINK * 2.0, rel=5e-3)


@pytest.mark.parametrize(
    ("recorded", "meant"),
    [
        (Normal(None, None), Normal(0.0, 0.1)),
        (Normal(math.nan, math.nan), Normal(0.0, 0.1)),
        (Normal(math.inf, math.inf), Normal(0.0, 0.1)),
        (Normal(1.0, None, math.nan, math.nan), Normal(1.0, 0.1)),
        (Normal(0, 1, -math.inf, math.inf), Normal(0.0, 1.0)),
    ],
)
def test_unusable_statistics_are_replaced(recorded: Normal, meant: Normal) -> None:
    drawn = [draw(recipe, (1000,), "float32", name="weight") for recipe in (recorded, meant)]
    assert torch.equal(*drawn)


def test_normal_stays_within_its_recorded_range() -> None:
    values = draw(Normal(0.0, 5.0, low=-0.5, high=1.0), (10_000,), "float32", name="weight")
    assert values.min().item() == -0.5
    assert values.max().item() == 1.0


@pytest.mark.parametrize("std", [1e4, 1e38, 1e300])
def test_normal_stays_within_the_limit(std: float) -> None:
    values = draw(Normal(0.0, std), (10_000,), "float32", name="weight")
    assert values.min().item() == -LIMIT
    assert values.max().item() == LIMIT
    assert not values.isnan().any()


@pytest.mark.parametrize(("mean", "expected"), [(0.25, 0.25), (1e9, LIMIT), (-0.0, 0.0)])
def test_no_spread_gives_the_mean(mean: float, expected: float) -> None:
    assert draw(Normal(mean, 0.0), (3,), "float32", name="scale").tolist() == [expected] * 3


def test_normal_rounds_to_whole_numbers_in_an_integer_tensor() -> None:
    floats = draw(Normal(3.0, 40.0), (10_000,), "float32", name="ids")
    whole = draw(Normal(3.0, 40.0), (10_000,), "int64", name="ids")
    assert torch.equal(whole, floats.round().long())
    assert draw(Normal(-2.6, 0.0), (1,), "int8", name="ids").item() == -3
    assert draw(Normal(-2.6, 9.0), (100,), "uint8", name="ids").max().item() < 10


def test_uniform_gives_whole_numbers_in_an_integer_tensor() -> None:
    values = draw(Uniform(0.5, 3.5), (10_000,), "int32", name="ids")
    assert set(values.tolist()) == {1, 2, 3}


def test_normal_and_uniform_are_fair_coins_in_a_truth_tensor() -> None:
    coins = draw(Bernoulli(0.5), (1000,), "bool", name="mask")
    for recipe in (Normal(0.9, 0.3), Uniform(0.0, 1.0)):
        assert torch.equal(draw(recipe, (1000,), "bool", name="mask"), coins)


def test_integers_are_clamped_into_the_dtype() -> None:
    values = draw(Integers(-1000, 1000), (10_000,), "int8", name="ids")
    assert (values.min().item(), values.max().item()) == (-128, 127)
    assert draw(Integers(300, 400), (2,), "uint8", name="ids").tolist() == [255, 255]
    assert draw(Integers(10**30, 10**31), (2,), "int64", name="ids").tolist() == [2**63 - 1] * 2
    assert draw(Integers(0, 10**6), (1000,), "float8_e4m3fn", name="ids").float().max() <= 448


def test_literal_and_constant_give_their_values() -> None:
    assert draw(Literal((1, 2.5, True, 4)), (2, 2), "float32", name="x").tolist() == [
        [1.0, 2.5],
        [1.0, 4.0],
    ]
    assert draw(Literal(()), (0,), "int64", name="x").shape == (0,)
    assert draw(Literal((2**64 - 1,)), (), "uint64", name="x").item() == 2**64 - 1
    assert draw(Constant(1 + 2j), (2,), "complex64", name="x").tolist() == [1 + 2j] * 2
    assert draw(Constant(math.inf), (1,), "float16", name="x").item() == math.inf
    assert draw(Constant(7), (2, 1), "int16", name="x").tolist() == [[7], [7]]
