"""Pruning the configurations of a user's own kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
