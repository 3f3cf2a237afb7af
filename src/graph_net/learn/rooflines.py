"""Rooflines with reuse: the seconds of a program from what it computes and moves.

A Triton program, from the columns of ``graph_net.programs.triton.features``::

    time     = launches · launch + max(compute, cache, memory, chain)
    compute  = work / (peak · busy)         work: flops, and those of tiles beyond the edge
    cache    = traffic / (cache · busy)     traffic: the bytes that all blocks ask for
    memory   = bytes / (memory · busy)      bytes: inputs and output, each once
    chain    = ⌈⌈waves⌉ / resident⌉ · steps · step      the steps of a block follow each other
    busy     = waves / ⌈waves⌉ · active / (active + hide)
    active   = num_warps · min(resident, ⌈waves⌉)       warps at work in a multiprocessor
    resident = blocks it holds, by shared memory, registers and warps

``peak`` is one of three: products of 16 bits, products of tf32, arithmetic without tensor cores.

A program for a CPU, from TenSet's columns of each store::

    time     = Σ over stores of start + max(compute, near, far) / min(parallel, cores)
    compute  = (flops / lanes) / peak           lanes: the length of its vector loop, or 1
    near     = (Σ over buffers of bytes / lanes) / near
    far      = (Σ over buffers of unique + (lines - unique) · d / (d + cache)) / far

``lines`` and ``unique`` are bytes of the cache lines touched, all and different ones, and ``d`` the
bytes between two uses of the same: what stays in a cache until then is not fetched again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

WARPS, WARP_REGISTERS = 64, 2048
"""Warps that a multiprocessor holds, and registers per lane over all of them."""
CACHE_LINE = 64
OPERATIONS = range(7)
"""Indices of the floating-point operation counts among the 164 numbers of a store; integer
operations are mostly address computation.
"""
LANES, PARALLEL = 18, 39
BUFFERS = range(57, 147, 18)
"""Index of the first number of each buffer."""
TOUCHED, LINES, UNIQUE_LINES, DISTANCE = 3, 5, 6, 11
"""Offsets within a buffer: bytes, cache lines, unique lines, bytes between two uses."""

Numbers = Mapping[str, Tensor]


@dataclass(frozen=True)
class RooflineFormula:
    """A formula: the columns it needs, its initial constants, and the seconds of each row."""

    logarithms: tuple[str, ...]
    """Columns that are log2(1 + x)."""
    plain: tuple[str, ...]
    constants: Mapping[str, float]
    seconds: Callable[[Numbers, Numbers], Tensor]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns it needs."""
        return self.logarithms + self.plain


def _gpu_seconds(column: Numbers, constant: Numbers) -> Tensor:
    waves = column["waves"].clamp(min=1e-3)
    whole = torch.ceil(waves - 1e-4)  # the column is rounded to single precision
    warps = column["num_warps"].clamp(min=1)
    resident = _resident(column, constant, warps)
    active = warps * torch.minimum(resident, whole)
    busy = waves / whole * active / (active + constant["hide"])
    inside = (1 - column["row_waste"]) * (1 - column["column_waste"])
    steps = column["depth"] * column["taps"] / (column["block_k"] * column["split_k"]).clamp(min=1)
    roofs = (
        column["flops"] / (inside * busy * _peak(column, constant)),
        column["traffic"] / (busy * constant["cache"]),
        column["bytes"] / (busy * constant["memory"]),
        torch.ceil(whole / resident) * steps * constant["step"],
    )
    return column["launches"] * constant["launch"] + torch.stack(roofs).amax(dim=0)


def _resident(column: Numbers, constant: Numbers, warps: Tensor) -> Tensor:
    by_registers = WARP_REGISTERS / (column["per_thread"] + constant["registers"])
    by_warps = by_registers.clamp(max=WARPS) / warps
    return torch.minimum(column["blocks_by_shared"], by_warps).clamp(min=1)


def _peak(column: Numbers, constant: Numbers) -> Tensor:
    product = torch.where(column["tf32"] > 0.5, constant["peak_tf32"], constant["peak_16"])
    return torch.where(column["depth"] > 0.5, product, constant["peak_rows"])


def _cpu_seconds(column: Numbers, constant: Numbers) -> Tensor:
    lanes = column[_store(LANES)].clamp(min=1, max=16)
    cores = torch.minimum(column[_store(PARALLEL)].clamp(min=1), constant["cores"])
    operations = _sum([column[_store(place)] for place in OPERATIONS])
    near = _sum([column[_store(buffer + TOUCHED)] for buffer in BUFFERS])
    far = _sum([_fetched(column, constant, buffer) for buffer in BUFFERS])
    roofs = (
        operations / lanes / constant["peak"],
        near / lanes / constant["near"],
        far / constant["far"],
    )
    # A row that touches nothing is not a store but a primitive, in a set with both.
    return (near > 0) * constant["start"] + torch.stack(roofs).amax(dim=0) / cores


def _fetched(column: Numbers, constant: Numbers, buffer: int) -> Tensor:
    """Return the bytes that come from beyond the cache."""
    lines, unique, distance = (
        column[_store(buffer + place)] for place in (LINES, UNIQUE_LINES, DISTANCE)
    )
    lost = distance / (distance + constant["cache"])
    return CACHE_LINE * (unique + (lines - unique).clamp(min=0) * lost)


def _store(place: int) -> str:
    return f"store.{place:03}"


def _sum(values: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(values)).sum(dim=0)


GPU = RooflineFormula(
    tuple(
        "waves num_warps per_thread blocks_by_shared depth taps block_k split_k"
        " flops traffic bytes".split()
    ),
    ("tf32", "launches", "row_waste", "column_waste"),
    {
        "peak_16": 5e14,
        "peak_tf32": 2.5e14,
        "peak_rows": 1e13,
        "cache": 1e13,
        "memory": 3e12,
        "hide": 4.0,
        "registers": 32.0,
        "step": 5e-7,
        "launch": 3e-6,
    },
    _gpu_seconds,
)
CPU = RooflineFormula(
    tuple(
        _store(place)
        for place in (
            *OPERATIONS,
            LANES,
            PARALLEL,
            *(b + at for b in BUFFERS for at in (TOUCHED, LINES, UNIQUE_LINES, DISTANCE)),
        )
    ),
    (),
    {"peak": 3e9, "near": 2e10, "far": 1e10, "cache": 1e6, "cores": 2.0, "start": 1e-6},
    _cpu_seconds,
)
ROOFLINES = {"Triton programs": GPU, "CPU programs": CPU}
