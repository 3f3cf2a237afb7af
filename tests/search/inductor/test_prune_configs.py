"""Pruning the configurations of a user's own kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch

import graph_net.triton
from graph_net.programs.triton.target import H200
from search.inductor.some_choices import KERNEL, TILES, some_model


@dataclass
class Config:
    """As ``triton.Config`` has them."""

    kwargs: dict[str, int]
    num_stages: int = 3
    num_warps: int = 4
    more: dict[str, Any] = field(default_factory=dict)


CONFIGS = [
    Config(
        {"BLOCK_M": tile.block_m, "BLOCK_N": tile.block_n, "BLOCK_K": tile.block_k},
        tile.num_stages,
        tile.num_warps,
    )
    for tile in TILES
]
ARGUMENTS = {"a_ptr": torch.ones(1, dtype=torch.bfloat16), "M": 512, "N": 1024, "K": 768}


def test_few_configurations_of_a_known_product_are_left() -> None:
    prune = graph_net.triton.prune(some_model(), target=H200)["early_config_prune"]
    kept = prune(CONFIGS, ARGUMENTS)
    assert 1 <= len(kept) <= KERNEL.most
    assert all(one in CONFIGS for one in kept)


def test_other_kernels_keep_all_configurations() -> None:
    prune = graph_net.triton.prune(some_model(), target=H200)["early_config_prune"]
    assert prune(CONFIGS, {"a_ptr": torch.ones(1), "rows": 5}) == CONFIGS
    assert prune(CONFIGS, {**ARGUMENTS, "a_ptr": torch.ones(1, dtype=torch.float64)}) == CONFIGS
    assert prune([Config({"XBLOCK": 64})], ARGUMENTS) == [Config({"XBLOCK": 64})]


def test_configurations_that_share_a_tile_or_have_none_are_kept_together() -> None:
    prune = graph_net.triton.prune(some_model(most=1), target=H200)["early_config_prune"]
    twice = [*CONFIGS, *(replace(one, more={"SPLIT": 2}) for one in CONFIGS)]
    other = Config({"XBLOCK": 64})
    first, second, last = prune([*twice, other], ARGUMENTS)
    assert (first.kwargs, first.more, second.more) == (second.kwargs, {}, {"SPLIT": 2})
    assert last is other


def test_a_model_that_raises_leaves_all_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    model = some_model()
    monkeypatch.setattr(type(model), "keep", lambda *_: 1 / 0)
    prune = graph_net.triton.prune(model, target=H200)["early_config_prune"]
    assert prune(CONFIGS, ARGUMENTS) == CONFIGS
