"""Values that a kernel trusts are checked before it sees them.

Each call here read or wrote memory outside its tensors, killed its process, or did not end.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from graph_net.graph.errors import RefusedCall
from graph_net.graph.guard import guarded_call


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def pivots(*rows: int) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.int32)


GRID = ones(1, 2, 2, 2)
IMAGE = ones(1, 1, 4, 4)
LOSS = "aten.nll_loss_backward.default"
LDL = "aten.linalg_ldl_solve.default"
TRUSTED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a class past the last": (LOSS, (ones(1), ones(1, 3), torch.tensor([10**7]), None, 0, -100,
                                     ones())),
    "a class before the first": (LOSS, (ones(1), ones(1, 3), torch.tensor([-5]), None, 0, -100,
                                        ones())),
    "a class of a pixel": (
        "aten.nll_loss2d_backward.default",
        (ones(1, 1, 1), ones(1, 3, 1, 1), torch.full((1, 1, 1), 99), None, 0, -100, ones()),
    ),
    "half a block at the end": (LDL, (torch.eye(3), pivots(1, 2, -3), ones(3, 1))),
    "half a block in the middle": (LDL, (torch.eye(3), pivots(1, -2, 3), ones(3, 1))),
    "no heads": (
        "aten._native_multi_head_attention.default",
        (*[ones(1, 2, 4)] * 3, 4, 0, ones(12, 4), ones(12), ones(4, 4), ones(4)),
    ),
    "negative repeats": ("aten.repeat_interleave.self_Tensor",
                         (ones(3), torch.tensor([100_000, -99_999, 1]))),
    "a scale of nearly nothing": ("aten.upsample_nearest2d.default", (IMAGE, [8, 8], 1e-40, None)),
    "a scale for other sizes": ("aten._upsample_bilinear2d_aa.default",
                                (IMAGE, [100, 3], False, 1.7, 0.75)),
    "a place that is not a number": (
        "aten.grid_sampler_2d_backward.default",
        (ones(1, 1, 2, 2), IMAGE, GRID * math.nan, 0, 1, False, [True, True]),
    ),
    "a multiple of the least number": ("aten.lcm.default",
                                       (torch.tensor([-(2**63)]), torch.tensor([3]))),
    "a zeta function that counts for years": (
        "aten.special_zeta.default",
        (ones(1, dtype=torch.float64) * 2, torch.tensor([-1e15 - 0.5], dtype=torch.float64)),
    ),
    "a gradient of nothing": ("aten._adaptive_avg_pool2d_backward.default",
                              (ones(2, 8, 7), ones(2, 0, 8))),
    "indices in no bag": ("aten._embedding_bag.default",
                          (ones(3, 2), torch.tensor([1]), torch.tensor([0]), False, 2, False, None,
                           True)),
    "dimensions from the back": ("aten._fft_r2c.default", (ones(1, 51, 10), [-2], 2, True)),
    "distances of no rows": ("aten._pdist_backward.default", (ones(0), ones(0, 5), 1.0, ones(0))),
    "distances of other columns": ("aten._cdist_backward.default",
                                   (ones(3, 3), ones(3, 5), ones(3, 1), 2.0, ones(3, 3))),
    "another gradient": ("aten.gelu_backward.default", (ones(10, 10), ones(10, 1))),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUSTED)
def test_a_value_that_the_kernel_would_trust_is_refused(name: str) -> None:
    target, args = TRUSTED[name]
    with pytest.raises(RefusedCall):
        guarded_call(target, args, {})


def recurrent(hidden: int, weights: list[torch.Tensor]) -> tuple[Any, ...]:
    states = (ones(1, 2, hidden), ones(1, 2, hidden))
    return ones(5, 2, 4), states, weights, True, 1, 0.0, False, False, False


@pytest.mark.parametrize("short", range(4))
def test_the_weights_of_a_recurrent_layer_have_the_sizes_that_it_reads(short: int) -> None:
    weights = [ones(32, 4), ones(32, 8), ones(32), ones(32)]
    with torch.inference_mode():
        assert guarded_call("torch.lstm", recurrent(8, weights), {})[0].shape == (5, 2, 8)
        weights[short] = weights[short][:4]
        with pytest.raises(RefusedCall, match=f"weight{short} of .* recurrent layer"):
            guarded_call("torch.lstm", recurrent(8, weights), {})


@pytest.mark.parametrize(
    ("target", "args"),
    [
        ("math.prod", (("a" * 1000, 2**20),)),
        ("math.prod", (((1, 2), 2**40),)),
        ("builtins.sum", (((1,) * 60_000,) * 2000, ())),
    ],
)
def test_sums_and_products_are_of_numbers(target: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(RefusedCall, match=r"numbers|starts from"):
        guarded_call(target, args, {})
    assert guarded_call(target, ((2, 3),), {}) in (5, 6)


USUAL: dict[str, tuple[str, tuple[Any, ...]]] = {
    "an ignored class": (LOSS, (ones(2), ones(2, 3), torch.tensor([-100, 2]), None, 0, -100,
                                ones())),
    "whole blocks": (LDL, (torch.eye(4), pivots(1, -3, -3, 4), ones(4, 1))),
    "a half": ("aten._upsample_bilinear2d_aa.default", (IMAGE, [2, 2], False, 0.5, 0.5)),
    "a third": ("aten.upsample_bicubic2d.default", (IMAGE, [1, 1], False, 1 / 3, 1 / 3)),
    "a grid": ("aten.grid_sampler_2d_backward.default",
               (ones(1, 1, 2, 2), IMAGE, GRID * 3, 0, 1, False, [True, True])),
}  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_what_a_model_computes_is_computed(name: str) -> None:
    target, args = USUAL[name]
    assert guarded_call(target, args, {}) is not None
