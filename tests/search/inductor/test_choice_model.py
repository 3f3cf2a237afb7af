"""A model of choices: what it is asked about, what it keeps, and its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_net.learn.learning_set import LearnError
from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.target import H200
from graph_net.search.inductor.choice_model import load_choices, save_choices
from graph_net.search.inductor.drawing import estimated_cycles
from graph_net.search.inductor.reading import read_call
from graph_net.search.inductor.template_call import Operand, TemplateCall
from graph_net.search.inductor.tile import Tile
from search.inductor.some_choices import (
    KERNEL,
    RULE,
    TILES,
    node,
    product_call,
    some_model,
    some_texts,
)


def test_the_fastest_tile_by_what_it_learned_is_kept_first() -> None:
    model = some_model()
    family = model.family(product_call(), H200)
    assert family is not None
    kept = model.keep(family, TILES)
    cycles = dict(zip(TILES, estimated_cycles(family, TILES), strict=True))
    assert cycles[kept[0]] <= 1.1 * min(cycles.values())
    assert 1 <= len(kept) <= KERNEL.most


@given(st.integers(1, len(TILES)), st.floats(0, 2), st.floats(0, 3))
def test_one_to_most_are_kept_and_doubt_keeps_more(count: int, margin: float, doubt: float) -> None:
    generator = np.random.default_rng(count)
    mean, spread = generator.normal(size=count), generator.random(count)
    rule = replace(KERNEL, margin=margin, doubt=doubt)
    kept = rule.keep(TILES[:count], mean, spread)
    assert kept[0] == int(mean.argmax())
    assert 1 <= len(kept) <= min(KERNEL.most, count)
    assert len(kept) <= len(replace(rule, doubt=doubt + 1).keep(TILES[:count], mean, spread))


def test_a_tile_that_compiles_slowly_has_to_be_closer_to_the_best() -> None:
    mean, spread = np.array([0.0, -0.04]), np.zeros(2)
    rule = replace(KERNEL, margin=0.05)
    assert rule.keep(TILES[:2], mean, spread) == [0, 1]
    slow = replace(rule, effort={TILES[1].key: 2.0})
    assert slow.keep(TILES[:2], mean, spread) == [0]
    assert replace(slow, margin=0.1, budget=2.9).keep(TILES[:2], mean, spread) == [0]
    assert replace(slow, margin=0.1, budget=3).keep(TILES[:2], mean, spread) == [0, 1]
    best_is_slow = replace(rule, effort={TILES[0].key: 4.0})
    assert replace(best_is_slow, budget=2).keep(TILES[:2], mean, spread) == [0]  # at least one
    assert best_is_slow.keep(TILES[:2], mean, spread) == [0, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"margin": -0.1},
        {"most": 0},
        {"lows": (1.0,)},
        {"effort": {TILES[0].key: 0.0}},
        {"budget": 0.0},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not negative|choices|range|positive"):
        replace(KERNEL, **wrong)  # type: ignore[arg-type]


def test_a_tile_beyond_shared_memory_is_never_kept() -> None:
    model = some_model(margin=100.0)
    family = model.family(product_call(), H200)
    assert family is not None
    too_large = Tile(256, 256, 128, 8, 5, 8)
    assert model.keep(family, [too_large]) == []
    assert too_large not in model.keep(family, [too_large, *TILES])


def test_a_short_sum_needs_no_memory_for_stages_that_it_never_reaches() -> None:
    deep = Tile(128, 128, 128, 8, 4, 8)
    short, long = (product_call(k=depth).family(H200) for depth in (96, 768))
    assert short is not None
    assert long is not None
    assert deep.fits_in(short)
    assert not deep.fits_in(long)


DTYPES = ("bfloat16", "float16", "float8_e4m3fn")
BFLOAT16 = Operand((512, 768), (768, 1), "bfloat16")
FLOAT32 = Operand((768, 1024), (1, 768), "float32")


@pytest.mark.parametrize(
    "call",
    [
        product_call(device="cpu"),
        product_call(op="_scaled_mm"),
        product_call(operands=(BFLOAT16, FLOAT32)),
        product_call(operands=(replace(BFLOAT16, strides=(1, 512)), FLOAT32)),
        product_call(m=1 << 20),
    ],
    ids="device operator dtype order size".split(),
)
def test_what_is_outside_the_domain_is_not_asked_about(call: object) -> None:
    assert some_model().family(call, H200) is None  # type: ignore[arg-type]


FACTOR, OTHER = Operand((512, 768), (768, 1), "float16"), Operand((768, 1024), (1024, 1), "float16")
LEFT, RIGHT = (
    Operand(sizes, strides, "float8_e4m3fn")
    for sizes, strides in (((512, 768), (768, 1)), ((768, 1024), (1, 768)))
)
SCALES = Operand((512, 1), (1, 1), "float32"), Operand((1, 1024), (1, 1), "float32")
BLOCKS = Operand((512, 6), (6, 1), "float32")
WIDE = Operand((2, 2, 256, 128), (65536, 32768, 128, 1), "bfloat16")
QUERY, KEY = (
    Operand((2, heads, 256, 64), (heads * 16384, 16384, 64, 1), "bfloat16") for heads in (8, 2)
)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (TemplateCall("mm_plus_mm", (FACTOR, OTHER) * 2, "cuda"), {"m": 512, "n": 1024, "k": 768}),
        (TemplateCall("scaled_mm", (LEFT, RIGHT, *SCALES), "cuda"), {"dtype": "float8_e4m3fn"}),
        (
            TemplateCall("flex_attention", (QUERY, KEY, KEY), "cuda"),
            {"b": 16, "shared": 4, "m": 256, "k": 256, "n": 64, "d": 64, "masked": False},
        ),
    ],
    ids="pair scaled attention".split(),
)
def test_kernels_that_only_inductor_has_are_known(call: TemplateCall, expected: Any) -> None:
    model = some_model(call.op, lows=(0.0,) * 6, highs=(20.0,) * 6, dtypes=DTYPES)
    family = model.family(call, H200)
    assert family is not None
    assert expected.items() <= family.module.items()
    assert 1 <= len(model.keep(family, TILES)) <= KERNEL.most
    with pytest.raises(SpaceError, match="only Inductor"):
        family.launches(TILES[0].config)


@pytest.mark.parametrize(
    "call",
    [
        TemplateCall("mm_plus_mm", (FACTOR, OTHER, OTHER, FACTOR), "cuda"),
        TemplateCall("mm_plus_mm", (FACTOR, OTHER), "cuda"),
        TemplateCall("mm_plus_mm", (FACTOR, replace(OTHER, strides=(1, 768))) * 2, "cuda"),
        TemplateCall("scaled_mm", (FACTOR, OTHER, *SCALES), "cuda"),
        TemplateCall("flex_attention", (KEY, QUERY, QUERY), "cuda"),
        TemplateCall("flex_attention", (QUERY, KEY, FACTOR), "cuda"),
        TemplateCall("flex_attention", (QUERY, KEY, WIDE), "cuda"),
        TemplateCall("scaled_mm", (LEFT, RIGHT, BLOCKS, BLOCKS), "cuda"),
    ],
    ids="sizes operands order dtype heads rank widths blocks".split(),
)
def test_what_is_no_call_of_these_kernels_is_not_asked_about(call: TemplateCall) -> None:
    model = some_model(call.op, lows=(0.0,) * 6, highs=(20.0,) * 6, dtypes=DTYPES)
    assert model.family(call, H200) is None


def test_more_heads_that_share_keys_than_were_timed_are_outside_the_domain() -> None:
    model = some_model("flex_attention", lows=(0.0,) * 6, highs=(*(20.0,) * 5, 1.0))
    two, eight = (
        TemplateCall("flex_attention", (QUERY, key, key), "cuda")
        for key in (replace(KEY, sizes=(2, heads, 256, 64)) for heads in (4, 1))
    )
    assert model.family(two, H200) is not None
    assert model.family(eight, H200) is None


def test_a_side_below_the_smallest_block_counts_as_one() -> None:
    model = some_model(lows=(5.0, 4.0, 4.0, 1.0, 1.0, 1.0))  # a factor of two above 16 rows
    for rows in (1, 8, 16):
        assert model.family(product_call(m=rows), H200) is not None
    higher = some_model(lows=(6.0, 4.0, 4.0, 1.0, 1.0, 1.0))
    assert higher.family(product_call(m=1), H200) is None


def test_another_gpu_is_outside_the_domain() -> None:
    assert some_model().family(product_call(), replace(H200, arch="sm_80")) is None


def test_a_saved_model_keeps_the_same(tmp_path: Path) -> None:
    save_choices(RULE, some_texts(), tmp_path / "model", "# Card\n")
    loaded, model = load_choices(tmp_path / "model"), some_model()
    family = model.family(product_call(), H200)
    assert family is not None
    assert loaded.keep(family, TILES) == model.keep(family, TILES)
    assert loaded.uuid == model.uuid
    assert loaded.uuid != some_model(margin=0.06).uuid


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(LearnError, match="holds no model of choices"):
        load_choices(tmp_path)


@pytest.mark.parametrize("precision", ["tf32", "ieee"])
def test_torch_tells_whether_tf32_is_allowed(precision: str) -> None:
    products = [node(512, 768, dtype=torch.float32), node(768, 1024, dtype=torch.float32)]
    settings: dict[str, Any] = {
        "mm": torch.backends.cuda.matmul,
        "convolution": torch.backends.cudnn.conv,  # type: ignore[attr-defined]
    }
    for op, setting in settings.items():
        before, setting.fp32_precision = setting.fp32_precision, precision
        try:
            call = read_call(op, products)
        finally:
            setting.fp32_precision = before
        assert call is not None
        assert call.tf32 == (precision == "tf32")
