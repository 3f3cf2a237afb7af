"""A program as numbers: what was chosen, what is computed, and what follows from both."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graph_net.programs.triton.family import BYTES, Config, Family
from graph_net.programs.triton.gemm import PARAMETERS as OF_GEMM
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.rowwise import PARAMETERS as OF_ROWS

if TYPE_CHECKING:
    import numpy as np

KERNELS = (
    "matmul",
    "batched_matmul",
    "convolution",
    "softmax",
    "layer_norm",
    "rms_norm",
    "row_sum",
)
CHOSEN = tuple(dict.fromkeys([*OF_GEMM, *OF_ROWS]))
DERIVED = (
    *("rows columns depth taps batch".split()),
    *("bytes_a_number tf32 flops bytes intensity".split()),
    *("shared blocks_by_shared per_thread traffic traffic_over_bytes".split()),
    *("programs waves last_wave launches parts_bytes row_waste column_waste".split()),
)
NAMES = (*(f"is_{kernel}" for kernel in KERNELS), *CHOSEN, *DERIVED)
"""What each number is; the same for every kernel, so that a model can learn from all of them."""


def features_of(family: Family, config: Config) -> np.ndarray:
    """Return the numbers of NAMES; magnitudes as log2(1 + x), 0 for what a kernel lacks."""
    import numpy as np

    kernel = [float(name == family.module["kernel"]) for name in KERNELS]
    chosen = [_log(config.get(name, 0)) for name in CHOSEN]
    return np.array([*kernel, *chosen, *_derived(family, config)], dtype=np.float32)


def _derived(family: Family, config: Config) -> list[float]:
    sizes = _sizes(family)
    launches = family.launches(config)
    x, y, z = launches[0].grid
    waves = x * y * z / family.target.sms
    shared, traffic = family.shared(config), family.traffic(config)
    space = family.workspace(config)
    tile = config.get("block_m", config.get("block_rows", 1))
    side = config.get("block_n", config.get("block_columns", 1))
    return [
        *map(_log, sizes),
        float(BYTES[family.dtype]),
        float(family.dtype == "tf32"),
        _log(family.flops()),
        _log(family.bytes()),
        _log(family.flops() / family.bytes()),
        _log(shared),
        _log(family.target.shared / max(shared, 1024)),
        _log(family.per_thread(config)),
        _log(traffic),
        _log(traffic / family.bytes()),
        _log(x * y * z),
        _log(waves),
        waves - math.floor(waves),
        float(len(launches)),
        _log(space.bytes if space else 0),
        _waste(sizes[0], tile),
        _waste(sizes[1], side),
    ]


def _sizes(family: Family) -> tuple[int, int, int, int, int]:
    if isinstance(family, Gemm):
        return family.m, family.n, family.k, family.taps, family.batch
    return family.module["rows"], family.module["columns"], 0, 0, 1


def _waste(size: int, block: int) -> float:
    """Return the share of the blocks' work that is outside."""
    return 1 - size / (-(-size // block) * block)


def _log(value: float) -> float:
    return math.log2(1 + value)
