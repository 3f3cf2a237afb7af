"""A program as numbers: its parameters, its computation, and numbers derived from both.

All programs of a space are encoded at once: each number is a column, computed from the columns of
the parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.triton.family import BYTES, Config, Family
from graph_net.programs.triton.gemm import PARAMETERS as OF_GEMM
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.gemm_cycles import CYCLE_NAMES, GemmCycles
from graph_net.programs.triton.gemm_features import GEMM_NAMES, GemmPrograms
from graph_net.programs.triton.occupancy import Column, Configs, log
from graph_net.programs.triton.rowwise import PARAMETERS as OF_ROWS
from graph_net.programs.triton.rowwise import Rowwise
from graph_net.programs.triton.rowwise_features import RowwisePrograms

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
NAMES = (*(f"is_{kernel}" for kernel in KERNELS), *CHOSEN, *DERIVED, *GEMM_NAMES, *CYCLE_NAMES)
"""The meaning of each number; the same for every kernel, so that one model can learn from all."""
VERSION = 2
"""Version of the numbers' meaning; do not mix features of two versions."""


def features_of(family: Family, config: Config) -> NDArray[np.float32]:
    """Return the numbers of NAMES; magnitudes as log2(1 + x), 0 if a kernel lacks one."""
    one = {name: np.array([value]) for name, value in config.items()}
    return np.asarray(features_of_many(family, one)[0])


def features_of_many(family: Family, configs: Configs) -> NDArray[np.float32]:
    """Return a row of NAMES for each program, given as columns of parameters."""
    count = len(next(iter(configs.values())))
    columns = {f"is_{family.module['kernel']}": np.ones(1)}
    columns |= {name: log(values) for name, values in configs.items()}
    columns |= _derived(family, configs)
    found = np.zeros((len(NAMES), count), np.float32)
    for place, name in enumerate(NAMES):
        if name in columns:
            found[place] = columns[name]
    return np.ascontiguousarray(found.T)


def _derived(family: Family, configs: Configs) -> dict[str, Column]:
    programs = _programs(family, configs)
    waves = programs.programs / family.target.sms
    sizes = _sizes(family)
    found = {
        **_computed(family, sizes),
        "shared": log(programs.shared),
        "blocks_by_shared": log(family.target.shared / np.maximum(programs.shared, 1024)),
        "per_thread": log(programs.per_thread),
        "traffic": log(programs.traffic),
        "traffic_over_bytes": log(programs.traffic / family.bytes()),
        "programs": log(programs.programs),
        "waves": log(waves),
        "last_wave": waves - np.floor(waves),
        "launches": np.where(programs.parts > 1, 2.0, 1.0),
        "parts_bytes": log(programs.parts_bytes),
        "row_waste": _waste(sizes[0], programs.tile[0]),
        "column_waste": _waste(sizes[1], programs.tile[1]),
    }
    if isinstance(programs, GemmPrograms):
        found |= GemmCycles(programs).columns()
    return found | programs.columns()


def _programs(family: Family, configs: Configs) -> GemmPrograms | RowwisePrograms:
    if isinstance(family, Gemm):
        return GemmPrograms(family, configs)
    assert isinstance(family, Rowwise)
    return RowwisePrograms(family, configs)


def _computed(family: Family, sizes: tuple[int, ...]) -> dict[str, Column]:
    """Return the columns that are the same for all programs."""
    names = ("rows", "columns", "depth", "taps", "batch")
    found = {name: log(size) for name, size in zip(names, sizes, strict=True)}
    return found | {
        "bytes_a_number": np.asarray(float(BYTES[family.dtype])),
        "tf32": np.asarray(float(family.dtype == "tf32")),
        "flops": log(family.flops()),
        "bytes": log(family.bytes()),
        "intensity": log(family.flops() / family.bytes()),
    }


def _sizes(family: Family) -> tuple[int, int, int, int, int]:
    if isinstance(family, Gemm):
        return family.m, family.n, family.k, family.taps, family.batch
    return family.module["rows"], family.module["columns"], 0, 0, 1


def _waste(size: int, block: Column) -> Column:
    """Return the share of the blocks' work that is outside the tensor."""
    return 1 - size / (np.ceil(size / block) * block)
