"""Tile: the parameters of one Triton template choice of Inductor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graph_net.programs.triton.family import BYTES
from graph_net.programs.triton.gemm import THREAD_REGISTERS, Gemm, shared_bytes
from graph_net.programs.triton.occupancy import Configs
from graph_net.search.inductor.families import FlexAttention

SIDES = ("BLOCK_M", "BLOCK_N", "BLOCK_K")


@dataclass(frozen=True)
class Tile:
    """Tile sizes, row grouping, pipeline stages and warps.

    Of flex attention: queries, numbers of a value, and keys of a step.
    """

    block_m: int
    block_n: int
    block_k: int
    group_m: int
    num_stages: int
    num_warps: int

    def __post_init__(self) -> None:
        if min(asdict(self).values()) < 1:
            raise ValueError(f"the numbers of a tile are positive: {self}")

    @staticmethod
    def of(options: Mapping[str, Any]) -> Tile | None:
        """Return the tile of a template's options; None if they have no tile."""
        keys = (*SIDES, "num_stages", "num_warps")
        if not all(type(options.get(key)) is int for key in keys):
            return None
        rows, columns, depth, stages, warps = (options[key] for key in keys)
        group = options.get("GROUP_M", 1)
        if min(rows, columns, depth, stages, warps) < 1 or type(group) is not int:
            return None
        return Tile(rows, columns, depth, max(group, 1), stages, warps)

    @cached_property
    def key(self) -> str:
        """The tile as text, without the row grouping, which changes no code."""
        sides = f"{self.block_m}x{self.block_n}x{self.block_k}"
        return f"{sides} {self.num_stages} stages {self.num_warps} warps"

    @property
    def config(self) -> dict[str, int]:
        """The tile in the parameters of our own kernels, whose features it shares."""
        return {**asdict(self), "split_k": 1}

    def fits_in(self, family: Gemm) -> bool:
        """Return whether the tile can run for a workload on its GPU, by an estimate."""
        if isinstance(family, FlexAttention):
            return family.shared(self.config) <= family.target.shared
        steps = family.taps * -(-family.k // self.block_k)
        held = replace(self, num_stages=min(self.num_stages, steps))  # none beyond the last step
        return held.fits(BYTES[family.dtype], family.target.shared)

    def fits(self, each: int, shared: int) -> bool:
        """Return whether a block has enough shared memory and registers for the tile."""
        sums = self.block_m * self.block_n / (32 * self.num_warps)
        return sums <= THREAD_REGISTERS and shared_bytes(self.config, each) <= shared


def columns_of(tiles: Sequence[Tile]) -> Configs:
    """Return tiles as columns of parameters."""
    configs = [tile.config for tile in tiles]
    return {name: np.array([config[name] for config in configs]) for name in configs[0]}
