"""Occupancy: registers and shared memory decide how many blocks run at once on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.triton.target import Target

Column: TypeAlias = NDArray[np.float64]
"""One number for each of many programs."""
Configs: TypeAlias = Mapping[str, NDArray[np.int64]]
"""The values of each parameter, for each of many programs."""
RESERVED = 1024
"""Bytes of shared memory that the driver reserves per block."""
WARPS, BLOCKS = 64, 32
"""Most warps and blocks of a multiprocessor."""
LEAST_REGISTERS, MOST_REGISTERS = 16.0, 255.0


def log(values: Column | NDArray[np.int64] | float) -> Column:
    """Return magnitudes: log2(1 + x)."""
    return np.log2(1.0 + np.asarray(values, np.float64))


def ceil_divide(values: Column | float, by: Column | float) -> Column:
    """Return each value divided by ``by``, rounded up."""
    return np.ceil(np.asarray(values, np.float64) / by)


def power_of_two_in(size: int, most: int) -> int:
    """Return the largest power of two that divides a size and is at most ``most``."""
    return min(size & -size, most)


@dataclass(frozen=True)
class Filling:
    """How the blocks of programs fill a GPU."""

    sms: int
    programs: Column
    resident: Column
    """Blocks that a multiprocessor can hold at once."""
    active: Column
    """Blocks on the busiest multiprocessor at once."""
    turns: Column
    """How often the busiest multiprocessor is filled: waves of resident blocks."""
    balance: Column
    """Mean blocks per multiprocessor over the blocks of the busiest one."""

    @staticmethod
    def of(
        target: Target, programs: Column, warps: Column, registers: Column, shared: Column
    ) -> Filling:
        """Distribute ``programs`` blocks over the multiprocessors of a GPU."""
        resident = resident_blocks(target, warps, registers, shared)
        each = ceil_divide(programs, target.sms)
        turns = ceil_divide(programs, target.sms * resident)
        return Filling(
            target.sms,
            programs,
            resident,
            np.minimum(each, resident),
            turns,
            programs / (target.sms * each),
        )

    def cycles(self, block: Callable[[Column], Column]) -> Column:
        """Return the cycles of all blocks, given the cycles of n blocks on one multiprocessor.

        Counts full waves, and one more wave for the remaining blocks.
        """
        places = self.sms * self.resident
        full = np.floor(self.programs / places)
        rest = ceil_divide(self.programs - full * places, self.sms)
        last = np.where(rest > 0, block(np.maximum(rest, 1)), 0)
        return np.asarray(full * block(self.resident) + last)

    def columns(self, warps: Column) -> dict[str, Column]:
        """Return its features."""
        return {
            "resident": log(self.resident),
            "active_warps": log(self.active * warps),
            "all_warps": log(self.programs * warps),
            "turns": log(self.turns),
            "balance": self.balance,
        }


FILLING = ("resident", "active_warps", "all_warps", "turns", "balance")


def resident_blocks(target: Target, warps: Column, registers: Column, shared: Column) -> Column:
    """Return how many blocks of each program a multiprocessor holds; at least one."""
    allocated = np.ceil(np.clip(registers, LEAST_REGISTERS, MOST_REGISTERS) / 8) * 8
    by_registers = np.floor(target.registers / (allocated * 32 * warps))
    by_shared = np.floor((target.shared + RESERVED) / (shared + RESERVED))
    by_warps = np.floor(WARPS / warps)
    fewest = np.minimum(np.minimum(by_registers, by_shared), np.minimum(by_warps, BLOCKS))
    return np.asarray(np.maximum(fewest, 1.0))
