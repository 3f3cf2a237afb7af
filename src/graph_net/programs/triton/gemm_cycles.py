"""Estimated cycles of a product's programs: a roofline of each block, then of all blocks.

Constants were fitted to programs of networks outside every test set. A model corrects these
numbers, so their proportions matter, not their scale.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from graph_net.programs.triton.gemm_features import GemmPrograms
from graph_net.programs.triton.occupancy import Column, log

FLOPS = 8192.0
"""Tensor-core FLOPs per cycle and multiprocessor, times the bytes of a number."""
ALONE = 0.44
"""Share of FLOPS that warps reach without warp groups."""
SHARED_BYTES, L2_BYTES, DRAM_BYTES = 128.0, 80.0, 20.0
"""Bytes that a multiprocessor reads per cycle from shared memory, L2 and memory."""
ISSUED, LINES = 4.0, 1.25
"""Instructions issued and cache lines looked up per cycle and multiprocessor."""
LATENCY, LAUNCH, SECOND = 800.0, 10000.0, 2500.0
"""Cycles of a load from memory, of a launch, and of a second launch right after."""
AROUND, SPILLED = 20.0, 48.0
"""Instructions to address a load, and instructions per spilled number."""
CYCLE_NAMES = (
    *("mma_cycles shared_cycles l2_cycles issue_cycles line_cycles latency_cycles".split()),
    *("step_cycles block_cycles epilogue_cycles dram_cycles second_cycles".split()),
    *("cycles over_bound memory_bound".split()),
)


class GemmCycles:
    """Cycles of the programs of one product."""

    def __init__(self, programs: GemmPrograms) -> None:
        self.programs = programs
        self.family = programs.family
        self.sms = programs.family.target.sms

    def columns(self) -> dict[str, Column]:
        """Return the features of CYCLE_NAMES."""
        active = self.programs.filling.active
        return {
            "mma_cycles": log(self.mma(active)),
            "shared_cycles": log(self.programs.through_shared / SHARED_BYTES * active),
            "l2_cycles": log(self.programs.step_bytes / L2_BYTES * active),
            "issue_cycles": log(self.issue * active),
            "line_cycles": log(self.programs.lines / LINES * active),
            "latency_cycles": log(self.latency),
            "step_cycles": log(self.step(active)),
            "block_cycles": log(self.block(active)),
            "epilogue_cycles": log(self.epilogue),
            "dram_cycles": log(self.dram),
            "second_cycles": log(self.second),
            "cycles": log(self.total),
            "over_bound": np.log2(self.total / self.bound),
            "memory_bound": np.asarray(np.log2(self.moving / self.computing)),
        }

    def mma(self, active: Column) -> Column:
        """Cycles in which the tensor cores multiply one step's tiles of all active blocks."""
        one = self.programs
        busy = np.minimum(1, active * one.warps / 4) * np.where(one.grouped, 1, ALONE)
        flops = 2 * one.block_m * one.block_n * one.block_k
        return flops * active / (FLOPS / one.bytes * busy)

    @cached_property
    def issue(self) -> Column:
        """Cycles to issue a block's step, without the multiplications."""
        one = self.programs
        fragments = np.where(one.grouped, 0, one.through_shared / one.warps / 512)
        copied = np.where(one.synchronous, 2, 1)
        around = AROUND * copied * (one.loads[0] + one.loads[1])
        return one.warps * (around + fragments + SPILLED * one.spilled) / ISSUED

    @cached_property
    def latency(self) -> Column:
        """Cycles that a block waits for a step's tiles, given the tiles in flight."""
        one = self.programs
        ahead = np.where(one.synchronous, 1, np.maximum(1, one.stages - 1))
        alone = self.mma(np.ones_like(one.warps))
        together = np.maximum(LATENCY / ahead, alone)
        return np.where(one.synchronous, LATENCY + alone, together)

    def step(self, active: Column) -> Column:
        """Cycles of a step with ``active`` blocks at once."""
        one = self.programs
        shared = one.through_shared / SHARED_BYTES
        l2 = one.step_bytes / L2_BYTES
        looked_up = one.lines / LINES
        busy = np.maximum(np.maximum(shared, l2), np.maximum(self.issue, looked_up)) * active
        return np.maximum(np.maximum(self.mma(active), busy), self.latency)

    @cached_property
    def epilogue(self) -> Column:
        """Cycles of a block from its last sum to its last store."""
        one, epilogue = self.programs, self.family.epilogue
        stored = np.where(one.parts > 1, 4.0, one.bytes * (1 + epilogue.add))
        work = {"": 2.0, "relu": 3.0, "relu6": 4.0}.get(epilogue.activation, 30.0)
        finishing = np.where(one.parts > 1, 2.0, work) * one.per_thread * one.warps / ISSUED
        return one.block_m * one.block_n * stored / DRAM_BYTES + finishing

    def block(self, active: Column) -> Column:
        """Cycles of ``active`` blocks at once, from the first load to the last store."""
        return 2 * LATENCY + self.programs.steps * self.step(active) + self.epilogue * active

    @cached_property
    def dram(self) -> Column:
        """Cycles of all memory traffic."""
        moved = self.programs.fetched + self.programs.parts_bytes
        return moved / (DRAM_BYTES * self.sms)

    @cached_property
    def second(self) -> Column:
        """Cycles of the launch that adds the parts of a split sum."""
        parts = self.programs.parts_bytes
        return np.where(parts > 0, SECOND + 2 * LATENCY + parts / (L2_BYTES * self.sms), 0)

    @cached_property
    def total(self) -> Column:
        """Cycles of a program: full waves, a last wave with fewer blocks, and launches."""
        spread = self.programs.filling.cycles(self.block)
        return np.maximum(spread, self.dram) + LAUNCH + self.second

    @cached_property
    def computing(self) -> float:
        """Cycles of the multiplications alone."""
        return self.family.flops() / (FLOPS / self.programs.bytes * self.sms)

    @cached_property
    def moving(self) -> float:
        """Cycles to read and write every tensor once."""
        return self.family.bytes() / (DRAM_BYTES * self.sms)

    @cached_property
    def bound(self) -> float:
        """Lower bound on the cycles of any program."""
        return max(self.computing, self.moving) + LAUNCH
