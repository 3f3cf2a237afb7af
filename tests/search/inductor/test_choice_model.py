"""A model of choices: what it is asked about, what it keeps, and its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.learn.learning_set import LearnError
from graph_net.programs.triton.target import H200
from graph_net.search.inductor.choice_model import load_choices, save_choices
from graph_net.search.inductor.drawing import estimated_cycles
from graph_net.search.inductor.template_call import Operand
from graph_net.search.inductor.tile import Tile
from search.inductor.some_choices import RULE, TILES, product_call, some_model, some_texts

COUNTS = st.integers(1, 40)


def test_the_fastest_tile_by_what_it_learned_is_kept_first() -> None:
    model = some_model()
    family = model.family(product_call(), H200)
    assert family is not None
    kept = model.keep(family, TILES)
    cycles = dict(zip(TILES, estimated_cycles(family, TILES), strict=True))
    assert cycles[kept[0]] <= 1.1 * min(cycles.values())
    assert 1 <= len(kept) <= RULE.most


@given(COUNTS, st.floats(0, 2), st.floats(0, 3))
def test_one_to_most_are_kept_and_doubt_keeps_more(count: int, margin: float, doubt: float) -> None:
    generator = np.random.default_rng(count)
    mean, spread = generator.normal(size=count), generator.random(count)
    model = some_model(margin=margin, doubt=doubt)
    kept = model.keep_places(mean, spread)
    assert kept[0] == int(mean.argmax())
    assert 1 <= len(kept) <= min(RULE.most, count)
    assert len(kept) <= len(some_model(margin=margin, doubt=doubt + 1).keep_places(mean, spread))


def test_a_tile_beyond_shared_memory_is_never_kept() -> None:
    model = some_model(margin=100.0)
    family = model.family(product_call(), H200)
    assert family is not None
    too_large = Tile(256, 256, 128, 8, 5, 8)
    assert model.keep(family, [too_large]) == []
    assert too_large not in model.keep(family, [too_large, *TILES])


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
