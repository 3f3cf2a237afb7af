"""Features derived from the configuration of a row operator: loads, reductions, cycles."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from graph_net.programs.triton.family import BYTES
from graph_net.programs.triton.occupancy import (
    Column,
    Configs,
    Filling,
    ceil_divide,
    log,
    power_of_two_in,
)
from graph_net.programs.triton.rowwise import Rowwise

VECTOR, ASYNC = 16, 4
"""Most bytes of a load, least bytes of an asynchronous copy."""
DRAM_BYTES, ISSUED = 20.0, 5.0
"""Bytes that a multiprocessor reads and instructions that it issues per cycle."""
LATENCY, LAUNCH, START, SHUFFLES, BARRIER = 300.0, 6400.0, 200.0, 200.0, 150.0
"""Cycles of a load, a launch, a block's start, a sum over a warp, and a sum over warps."""
WORK = {"softmax": 14.0, "layer_norm": 10.0, "rms_norm": 7.0, "row_sum": 3.0}
"""Instructions per number of a row."""
REDUCTIONS = {"softmax": 2.0, "layer_norm": 2.0, "rms_norm": 1.0, "row_sum": 1.0}


class RowwisePrograms:
    """Programs of one operator along rows, as columns of numbers."""

    def __init__(self, family: Rowwise, configs: Configs) -> None:
        self.family = family
        self.bytes = float(BYTES[family.dtype])
        self.block_rows, self.block_columns, self.warps, self.stages, self.turns, self.parts = (
            np.asarray(configs[name], np.float64)
            for name in (
                *("block_rows", "block_columns", "num_warps", "num_stages"),
                *("per_program", "split_columns"),
            )
        )

    def columns(self) -> dict[str, Column]:
        """Return the features of ROW_NAMES."""
        return {**self._loads(), **self._cycles(), **self.filling.columns(self.warps)}

    @cached_property
    def steps(self) -> Column:
        """Blocks that cover a part of a row."""
        return ceil_divide(ceil_divide(self.family.size[1], self.block_columns), self.parts)

    @cached_property
    def programs(self) -> Column:
        """Blocks of the first launch."""
        return ceil_divide(self.family.size[0], self.block_rows * self.turns) * self.parts

    @cached_property
    def per_thread(self) -> Column:
        """Numbers per thread and block."""
        return self.block_rows * self.block_columns / (32 * self.warps)

    @cached_property
    def vector(self) -> Column:
        """Bytes of a load."""
        aligned = self.bytes * power_of_two_in(self.family.size[1], VECTOR)
        return np.minimum(min(aligned, VECTOR), self.per_thread * self.bytes)

    @cached_property
    def passes(self) -> Column:
        """How often a row is read."""
        again = (self.family.kernel != "row_sum") & (self.steps > 1)
        return np.where(again, 2.0, 1.0)

    @cached_property
    def registers(self) -> Column:
        """Estimated registers of a thread."""
        kept = np.where(self.steps > 1, 1.6, 0.8) * self.per_thread
        return np.where(self.steps > 1, 30.0, 20.0) + kept

    @cached_property
    def shared(self) -> Column:
        """Bytes of shared memory, as in ``Rowwise.shared``."""
        staged = self.block_rows * self.block_columns * self.bytes * (self.stages - 1)
        return staged + 4 * self.block_rows * self.warps

    @cached_property
    def filling(self) -> Filling:
        """How the blocks fill the GPU."""
        target = self.family.target
        return Filling.of(target, self.programs, self.warps, self.registers, self.shared)

    @cached_property
    def across(self) -> Column:
        """Warps that share a row of a block."""
        lanes = self.block_columns * self.bytes / self.vector / 32
        return np.clip(lanes, 1, self.warps)

    @property
    def tile(self) -> tuple[Column, Column]:
        """Rows and columns of a block."""
        return self.block_rows, self.block_columns

    @cached_property
    def parts_bytes(self) -> Column:
        """Bytes of the parts of a split sum."""
        return np.where(self.parts > 1, 4.0 * self.family.size[0] * self.parts, 0)

    @cached_property
    def traffic(self) -> Column:
        """Bytes that all blocks request, as in ``Rowwise.traffic``."""
        return self.family.bytes() + (self.passes - 1) * self.family.buffers()["x"].bytes

    def _loads(self) -> dict[str, Column]:
        staged = np.where(self.steps > 1, np.maximum(self.stages - 1, 1), 1)
        in_flight = self.block_rows * self.block_columns * self.bytes * staged
        return {
            "vector_a": log(self.vector),
            "loads_a": log(self.per_thread * self.bytes / self.vector),
            "warp_columns": log(self.across),
            "warp_rows": log(self.block_rows / np.maximum(self.warps / self.across, 1)),
            "registers": log(self.registers),
            "part_steps": log(self.steps),
            "l2_bytes": log(in_flight * self.filling.active),
            "masked": np.asarray(self.family.size[1] % self.block_columns != 0, np.float64),
            "filled": np.minimum(self.stages / self.steps, 1),
        }

    @cached_property
    def latency(self) -> Column:
        """Cycles that a block waits for a step's numbers, given those in flight."""
        ahead = np.minimum(self.stages - 1, self.steps)
        return LATENCY / np.maximum(1, np.where(self.vector >= ASYNC, ahead, 1))

    def step(self, active: Column) -> Column:
        """Cycles of a step with ``active`` blocks at once."""
        covered = ceil_divide(self.family.size[1], self.block_columns) * self.block_columns
        read = self.block_rows * self.block_columns * self.family.size[1] / covered * self.bytes
        issue = WORK[self.family.kernel] * self.per_thread * self.warps / ISSUED
        return np.maximum(np.maximum(read / DRAM_BYTES, issue) * active, self.latency)

    @cached_property
    def reduction(self) -> Column:
        """Cycles to reduce the rows of a block."""
        rows = self.block_rows / np.maximum(self.warps / self.across, 1)
        several = BARRIER * (self.across > 1)
        return REDUCTIONS[self.family.kernel] * (SHUFFLES * np.sqrt(rows) + several)

    def block(self, active: Column) -> Column:
        """Cycles of ``active`` blocks at once."""
        row = self.steps * self.passes * self.step(active) + self.reduction
        return START + 8 * self.warps * active + self.turns * row

    def _cycles(self) -> dict[str, Column]:
        active, sms = self.filling.active, self.family.target.sms
        dram = self.traffic / (DRAM_BYTES * sms)
        launches = LAUNCH * np.where(self.parts > 1, 2, 1)
        cycles = np.maximum(self.filling.cycles(self.block), dram) + launches
        bound = self.family.bytes() / (DRAM_BYTES * sms) + LAUNCH
        return {
            "latency_cycles": log(self.latency),
            "issue_cycles": log(self.reduction),
            "step_cycles": log(self.step(active)),
            "block_cycles": log(self.block(active)),
            "dram_cycles": log(dram),
            "cycles": log(cycles),
            "over_bound": np.log2(cycles / bound),
        }
