"""Training a model of choices: from lines of a journal to a rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.learn.learning_set import LearnError
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.target import H200
from graph_net.results import canonical, read_as
from graph_net.search.inductor.case import KernelCase
from graph_net.search.inductor.choice_judge import judge
from graph_net.search.inductor.drawing import draw_tiles, estimated_cycles
from graph_net.search.inductor.template_call import Operand, TemplateCall, key_of
from graph_net.search.inductor.tile import Tile
from graph_net.search.inductor.timed_call import TimedCall, TimedChoice, timed_to_json
from graph_net.search.inductor.training import (
    FEWEST,
    calibrate,
    compiling_efforts,
    cross_validate,
    fixed,
    folds,
    random_scores,
    rule_of,
    train_texts,
)
from graph_net.search.inductor.training_data import TimedTiles, inductor_set, timed_tiles
from search.inductor.some_choices import TILES, product_call, some_model

SIZES = st.integers(1, 1 << 20)
TILED = st.builds(Tile, *[st.integers(1, 256)] * 6)
TIMES = st.none() | st.floats(1e-4, 1e3)
CHOICES = st.builds(TimedChoice, st.just("triton"), st.text(max_size=8), TIMES, TILED)


def operation(m: int, n: int, k: int, network: str) -> TimedTiles:
    """Return a product whose times are a roofline's."""
    family = product_call(m, n, k).family(H200)
    assert family is not None
    times = tuple((estimated_cycles(family, TILES) / 1e6).tolist())
    return TimedTiles(family, TILES, times, (True,) * len(TILES), np.inf, {network: 1})


OPERATIONS = [
    operation(m, n, 512, f"network{place}@1:bfloat16")
    for place, (m, n) in enumerate(
        [(64, 512), (128, 768), (512, 512), (1024, 256), (2048, 1024), (4096, 768)]
    )
]


@given(st.lists(CHOICES, max_size=4))
def test_a_line_of_a_journal_is_read_as_it_was_written(choices: list[TimedChoice]) -> None:
    timed = TimedCall(product_call(), tuple(choices), "NVIDIA H200", {"torch": "2.11"}, "a")
    assert read_as(TimedCall, timed_to_json(timed), "line") == timed


def test_only_what_was_measured_for_a_case_is_learned_from() -> None:
    call = product_call()
    assert call.module is not None
    chosen = tuple(TimedChoice("triton", "mm", 1.0, tile) for tile in TILES)
    library = TimedChoice("aten", "mm", 0.5)
    case = KernelCase(canonical(call.module), False, {"network": 1})
    timed = TimedCall(call, (*chosen, library), "NVIDIA H200", case=key_of(call.module))
    late = TimedChoice("triton", "mm", 9.0, Tile(16, 16, 16, 8, 2, 4), by_host=True)
    timed = replace(timed, choices=(*timed.choices, late))  # its time may be the host's
    [found] = timed_tiles([timed, replace(timed, case="")], H200, [case])
    assert (len(found.tiles), found.others) == (len(TILES), 0.5)
    assert timed_tiles([timed], H200, []) == []
    with pytest.raises(LearnError, match="no operation was measured"):
        inductor_set([])


def test_operations_of_a_network_are_in_one_fold() -> None:
    shared = [
        replace(one, weights={"a@1:x": 1, f"b{place}@1:x": 1})
        for place, one in enumerate(OPERATIONS[:3])
    ]
    parts = list(folds([*shared, *OPERATIONS[3:]], 3))
    assert sorted(place for part in parts for place in part) == list(range(6))
    assert any({0, 1, 2} <= set(part) for part in parts)


def test_a_trained_rule_loses_little_on_networks_it_has_not_seen() -> None:
    scored = cross_validate(OPERATIONS, None, H200, repeats=1)
    model = some_model()
    model = replace(model, rule=rule_of(OPERATIONS, H200))
    calibrated = calibrate(model, scored)
    kept, all_kept = judge(calibrated, scored), judge(fixed(model, len(TILES)), scored)
    assert kept.tiles < all_kept.tiles == len(TILES)
    assert all_kept.mean == all_kept.worst == 1
    assert kept.mean <= judge(fixed(model, 1), scored).mean
    assert len(train_texts(OPERATIONS, None)) == model.rule.members


def test_the_effort_of_a_tile_is_its_seconds_over_the_median_tiles() -> None:
    seconds = tuple(3.0 if place == 0 else 1.0 for place in range(len(TILES)))
    timed = [replace(one, compiling=seconds) for one in OPERATIONS]
    efforts = compiling_efforts(timed)
    assert (efforts[TILES[0].key], efforts[TILES[1].key]) == (3.0, 1.0)
    assert compiling_efforts(timed[: FEWEST - 1]) == {}  # too few tell it
    assert rule_of(timed, H200).kernels["matmul"].seconds == round(1 + 2 / len(TILES), 2)


def test_effort_adds_the_seconds_of_kernels_that_compile_at_different_speeds() -> None:
    model, [one] = some_model(most=1), OPERATIONS[:1]
    batched = replace(one, family=batched_family())
    rules = {
        "matmul": replace(model.rule.kernels["matmul"], seconds=3.0),
        "batched_matmul": replace(model.rule.kernels["batched_matmul"], most=2, margin=1e9),
    }
    model = replace(model, rule=replace(model.rule, kernels=rules))
    kept = judge(model, random_scores([one, batched], 0))
    count = len(TILES)
    assert kept.effort == pytest.approx((3 * 1 + 1 * 2) / (3 * count + 1 * count))
    assert kept.tiles == 1.5


def test_outside_its_domain_a_rule_keeps_everything() -> None:
    model = some_model(most=1)
    far = operation(1 << 20, 512, 512, "far@1:bfloat16")
    assert judge(model, random_scores([far], 0)).tiles == len(TILES)
    assert judge(model, random_scores(OPERATIONS[:1], 0)).tiles == 1


def test_what_does_not_fit_is_not_kept_and_costs_what_it_is_offered() -> None:
    model, [one], huge = some_model(most=8), OPERATIONS[:1], Tile(256, 256, 128, 8, 5, 8)
    tiles, times = (TILES[0], huge), (2.0, 1.0)
    both = replace(one, tiles=tiles, times=times, default=(True, True))
    kept = judge(model, random_scores([both], 0))
    assert (kept.tiles, kept.offered, kept.ratios) == (1, 2, (2.0,))
    alone = replace(one, tiles=(huge,), times=(1.0,), default=(True,))
    assert judge(model, random_scores([alone], 0)).tiles == 1  # nothing is known to be better
    assert judge(model, random_scores([replace(alone, others=1.5)], 0)).ratios == (1.5,)


def test_products_and_convolutions_share_their_sizes() -> None:
    one = operation(64, 512, 512, "small@1:bfloat16")
    batched = replace(one, family=batched_family())
    rules = rule_of([one, batched], H200).kernels
    assert rules["matmul"].highs == rules["batched_matmul"].highs
    assert rules["matmul"].has(batched_family())
    assert not rule_of([one], H200).kernels["matmul"].has(batched_family())


def batched_family() -> Gemm:
    """Return a batched product."""
    left, right = (
        Operand((4, *sizes), (sizes[0] * sizes[1], sizes[1], 1), "bfloat16")
        for sizes in ((64, 32), (32, 512))
    )
    family = TemplateCall("bmm", (left, right), "cuda").family(H200)
    assert family is not None
    return family


def test_every_operation_is_scored_once_per_cross_validation() -> None:
    few = OPERATIONS[:3]
    scored = cross_validate(few, None, H200, repeats=2)
    assert Counter(one.operation.key for one in scored) == {one.key: 2 for one in few}
    pairs = zip(scored[: len(few)], scored[len(few) :], strict=True)
    assert any((one.members != other.members).any() for one, other in pairs)


def test_half_of_a_draw_has_few_estimated_cycles() -> None:
    family = OPERATIONS[2].family
    drawn = draw_tiles(family, TILES, 12)
    assert len(set(drawn)) == 12
    assert drawn == draw_tiles(family, TILES, 12)
    cycles = dict(zip(TILES, estimated_cycles(family, TILES), strict=True))
    likely = sorted(TILES, key=cycles.__getitem__)[: len(TILES) // 4]
    assert sum(tile in likely for tile in drawn) >= 6
