"""Tile configurations as hand-made features: number and size of tiles, and their waste.

Bounds are in registers of 8 × 128; the extent of a dimension is the largest bound of any candidate
of the kernel. A tile that does not divide its extent computes on padding; few large tiles cannot
overlap loads with work; many small ones have overhead each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.config_graph import ConfigGraph, Floats32, Ints, TileConfigs

GROUPS = ("kernel", "output")
_OF_GROUP = ("tiles", "volume", "waste", "minor", "second", "major", "whole", "extent")
COLUMNS = (
    *(f"{group}_{what}" for group in GROUPS for what in _OF_GROUP),
    "steps", "volume", "sum", "fill", "traffic", "has_kernel",
)  # fmt: skip
Floats = NDArray[np.float64]


def tile_features(graph: ConfigGraph) -> Floats32:
    """Return a row of ``COLUMNS`` for each distinct configuration; magnitudes are log2."""
    configs = graph.configs
    assert isinstance(configs, TileConfigs)
    bounds = configs.bounds()
    groups = [_of_group(bounds[:, place]) for place in range(len(GROUPS))]
    (kernel, output) = groups
    steps = kernel[:, 0] + output[:, 0]
    volume = kernel[:, 1] + output[:, 1]
    both = np.log2(2 ** kernel[:, 1] + 2 ** output[:, 1])
    whole = kernel[:, 7] + output[:, 7]
    waste = kernel[:, 2] + output[:, 2]
    has_kernel = np.full(len(bounds), float((bounds[:, 0] > 0).any()))
    rest = [steps, volume, both, waste - steps, steps + both - whole, has_kernel]
    return np.concatenate([*groups, np.stack(rest, axis=1)], axis=1).astype(np.float32)


def _of_group(bounds: Ints) -> Floats:
    """Return the numbers of the kernel's or the output's bounds."""
    extents = np.maximum(bounds.max(axis=0), 1)
    rank = max(1, int((bounds > 0).any(axis=0).sum()))
    sizes = np.maximum(bounds, 1)
    tiles = np.ceil(extents / sizes)
    covered = np.log2(sizes / extents)
    whole = (sizes == extents)[:, :rank].mean(axis=1)
    return np.stack(
        [
            np.log2(tiles).sum(axis=1),
            np.log2(sizes).sum(axis=1),
            np.log2(tiles * sizes / extents).sum(axis=1),
            covered[:, rank - 1],
            covered[:, max(0, rank - 2)],
            covered[:, 0],
            whole,
            np.full(len(bounds), np.log2(extents).sum()),
        ],
        axis=1,
    )
