"""Operations that no model knows: only what cannot fit in shared memory is dropped."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from graph_net.programs.triton.target import H200
from graph_net.search.inductor.learned_choices import LearnedChoices
from graph_net.search.inductor.unfitting import cannot_fit
from search.inductor.some_choices import TILES, node, product_call, some_model

HUGE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 128, "num_stages": 4, "num_warps": 8}
SMALL = {**HUGE, "BLOCK_K": 64, "num_stages": 3}


def column_major(rows: int, columns: int, dtype: torch.dtype) -> Any:
    """Return a matrix whose columns are contiguous."""
    made = node(rows, columns, dtype=dtype)
    made.get_stride = lambda: [1, rows]
    return made


def template(options: dict[str, int], name: str = "mm") -> Any:
    """Return a choice of which no code is generated yet."""
    params = SimpleNamespace(to_kwargs=lambda: options)
    return SimpleNamespace(params=params, template=SimpleNamespace(uid=name))


def finalize(learned: LearnedChoices, op: str, choices: list[Any], nodes: list[Any]) -> list[Any]:
    """Return what is left of choices."""
    inputs = SimpleNamespace(nodes=lambda: nodes)
    return learned._finalize_template_configs({"all": iter(choices)}, inputs, [], op)


SYMBOL = importlib.import_module("sympy").Symbol("s0")  # it has no types
ADDED = [node(512, 4096), node(4096, 1024), node(512, 4096), node(4096, 1024)]
F8 = torch.float8_e4m3fn
SCALED = [node(512, 4096, dtype=F8), node(4096, 1024, dtype=F8), node(1), node(1)]


def test_added_products_lose_what_cannot_fit_and_keep_the_rest() -> None:
    learned, aten = LearnedChoices(some_model(), H200), template({})
    huge, small = template(HUGE), template(SMALL)
    assert finalize(learned, "mm_plus_mm", [aten, huge, small], ADDED) == [aten, small]
    assert (learned.report.dropped, learned.report.operations) == (1, 0)
    # Numbers of one byte fit where those of two do not.
    assert finalize(learned, "scaled_mm", [aten, huge, small], SCALED) == [aten, huge, small]
    assert not learned.report.errors


@pytest.mark.parametrize("nodes", [[node(512, 4096, device="cpu")] * 4, [node(512, 128)] * 4])
def test_other_devices_and_short_sums_keep_every_choice(nodes: list[Any]) -> None:
    learned, choices = LearnedChoices(some_model(), H200), [template(HUGE), template(SMALL)]
    assert finalize(learned, "mm_plus_mm", choices, nodes) == choices
    assert learned.report.dropped == 0


def test_choices_of_which_none_would_be_left_stay() -> None:
    learned, choices = LearnedChoices(some_model(), H200), [template(HUGE)]
    assert finalize(learned, "mm_plus_mm", choices, ADDED) == choices


def test_what_fits_by_the_estimate_of_a_model_fits_by_the_bound() -> None:
    call = product_call()
    for tile in TILES:
        assert not (tile.fits(2, H200.shared) and cannot_fit(tile, call, H200.shared))


def flex(name: str, columns: int, stages: int, head: int, device: str = "cuda") -> Any:
    """Return a choice of flex attention that is not compiled yet."""
    tile = {"tile_shape": str((128, -1, columns)), "num_stages": stages, "num_warps": 4}
    info = {"backend": "Triton", **tile}
    inputs = [node(2, 8, 1024, head, device=device) for _ in range(3)]
    return SimpleNamespace(name=name, info_dict=lambda: info, input_nodes=inputs, bmreq=None)


def test_flex_attention_loses_what_cannot_fit() -> None:
    learned = LearnedChoices(some_model(), H200)
    wide, narrow = flex("flex_attention_0", 128, 3, 256), flex("flex_attention_1", 32, 3, 256)
    assert learned.cut_uncompiled([wide, narrow]) == [narrow]
    assert learned.cut_uncompiled([wide]) == [wide]
    backward = flex("flex_attention_backward_2", 128, 3, 256)
    assert learned.cut_uncompiled([backward, backward]) == [backward, backward]
    others = [flex(f"flex_attention_{one}", 128, 3, 256, "cpu") for one in (0, 1)]
    assert learned.cut_uncompiled(others) == others
    assert learned.report.dropped == 1


def test_a_model_of_flex_attention_keeps_the_tiles_it_ranks_first() -> None:
    model = some_model("flex_attention", lows=(0.0,) * 6, highs=(20.0,) * 6, most=2)
    learned = LearnedChoices(model, H200)
    choices = [flex(f"flex_attention_{place}", 32, 1 + place, 64) for place in range(4)]
    kept = learned.cut_uncompiled(choices)
    assert 1 <= len(kept) <= 2
    assert set(map(id, kept)) <= set(map(id, choices))
    assert (learned.report.operations, learned.report.offered) == (1, 4)
    wide = [flex(f"flex_attention_{place}", 128, 5, 256) for place in range(2)]
    assert learned.cut_uncompiled(wide) == wide  # none fits: nothing is known to be better
    assert not learned.report.errors


def test_a_model_of_added_and_scaled_products_cuts_their_choices() -> None:
    model = some_model(
        *("mm_plus_mm", "scaled_mm"),
        lows=(0.0,) * 6,
        highs=(20.0,) * 6,
        dtypes=("bfloat16", "float8_e4m3fn"),
        most=1,
    )
    learned, aten = LearnedChoices(model, H200), template({})
    choices = [aten, template(HUGE), template(SMALL), template({**SMALL, "BLOCK_M": 64})]
    scales = [node(512, 1, dtype=torch.float32), node(1, 1024, dtype=torch.float32)]
    nodes = [node(512, 4096, dtype=F8), column_major(4096, 1024, F8), *scales]
    for op, given in (("mm_plus_mm", ADDED), ("scaled_mm", nodes)):
        kept = finalize(learned, op, choices, given)
        assert kept[0] is aten
        assert len(kept) == 2
    assert (learned.report.operations, learned.report.kept) == (2, 2)
    assert not learned.report.errors


def test_each_template_has_its_choice_of_a_kept_tile() -> None:
    learned = LearnedChoices(some_model(most=1), H200)
    nodes = [node(512, 4096), node(4096, 1024)]
    plain, again, other = template(SMALL), template(SMALL), template(SMALL, "persistent")
    assert finalize(learned, "mm", [plain, again, other], nodes) == [plain, other]
    assert (learned.report.offered, learned.report.kept) == (2, 2)


def test_flex_attention_that_cannot_be_read_stays_as_it_was() -> None:
    learned = LearnedChoices(some_model(), H200)
    odd = SimpleNamespace(name="flex_attention_0", input_nodes=[])
    assert learned.cut_uncompiled([odd]) == [odd]
    assert learned.report.errors


def test_sizes_that_are_symbols_leave_every_choice() -> None:
    learned = LearnedChoices(some_model("flex_attention"), H200)
    moving = node(512, 4096)
    moving.get_size = lambda: [SYMBOL, 4096]
    choices = [template(HUGE), template(SMALL)]
    assert finalize(learned, "mm", choices, [moving, node(4096, 1024)]) == choices
    assert finalize(learned, "mm_plus_mm", choices, [moving, node(4096, 1024)] * 2) == choices
    attention = [flex(f"flex_attention_{place}", 32, 2, 64) for place in range(2)]
    blocks = node(1, 1, 1, dtype=torch.int32)
    blocks.get_size = lambda: [1, 1, SYMBOL]
    for one in attention:
        one.input_nodes.append(blocks)
    assert learned.cut_uncompiled(attention) == attention
    assert (learned.report.operations, learned.report.errors) == (0, [])


def test_choices_without_a_name_stay_as_they_were() -> None:
    learned, choices = LearnedChoices(some_model(), H200), [SimpleNamespace()]
    assert learned.cut_uncompiled(choices) == choices
    assert learned.cut_uncompiled([]) == []
