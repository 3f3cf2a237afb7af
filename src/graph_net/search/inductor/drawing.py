"""Draw tiles to measure: tiles that cannot run are left out, likely fast ones are favoured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.gemm_cycles import GemmCycles
from graph_net.programs.triton.gemm_features import GemmPrograms
from graph_net.results import canonical, digest
from graph_net.search.inductor.tile import Tile, columns_of

LIKELY = 0.25
"""Fraction of all tiles, by estimated cycles, from which half of a draw is taken."""


def draw_tiles(family: Gemm, tiles: Sequence[Tile], count: int) -> list[Tile]:
    """Return up to ``count`` tiles, half of them from those with the fewest estimated cycles."""
    if len(tiles) <= count:
        return list(tiles)
    seed = int(digest("inductor", canonical(dict(family.module)))[:8], 16)
    generator = np.random.default_rng(seed)
    order = np.argsort(estimated_cycles(family, tiles), kind="stable")
    likely = order[: max(count // 2, int(LIKELY * len(tiles)))]
    first = generator.choice(likely, count // 2, replace=False)
    rest = np.setdiff1d(order, first)
    second = generator.choice(rest, count - first.size, replace=False)
    return [tiles[place] for place in np.sort(np.concatenate([first, second]))]


def estimated_cycles(family: Gemm, tiles: Sequence[Tile]) -> np.ndarray:
    """Return the cycles of tiles by a roofline, without any training."""
    return GemmCycles(GemmPrograms(family, columns_of(tiles))).total
