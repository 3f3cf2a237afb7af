"""Features derived from a product's configuration: warp tiles, loads, registers, traffic."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from graph_net.programs.triton.family import BYTES
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.occupancy import (
    FILLING,
    MOST_REGISTERS,
    Column,
    Configs,
    Filling,
    ceil_divide,
    log,
    power_of_two_in,
)

VECTOR = 16
"""Most bytes that a thread loads with one instruction."""
ASYNC = 4
"""Least bytes of an asynchronous copy; smaller loads go through registers."""
LINE = 128
"""Bytes of a cache line."""
MMA_ROWS, MMA_COLUMNS, GROUP_ROWS = 16, 8, 64
"""Rows and columns of a warp's MMA instruction, and rows of a warp group's."""
WORKLOAD = (
    *("transposed bias added activation stride filter image".split()),
    *("vector_a vector_b vector_out".split()),
)
TILES = (
    *("grouped warp_rows warp_columns shared_intensity loads_a loads_b stores".split()),
    *("masked registers pressure part_steps filled steps_waste depth_waste tile_ratio".split()),
    *("l2_bytes dram_bytes".split()),
)
GEMM_NAMES = (*WORKLOAD, *TILES, *FILLING)


class GemmPrograms:
    """Programs of one product, as columns of numbers."""

    def __init__(self, family: Gemm, configs: Configs) -> None:
        self.family = family
        self.bytes = float(BYTES[family.dtype])
        self.block_m, self.block_n, self.block_k = (
            np.asarray(configs[side], np.float64) for side in ("block_m", "block_n", "block_k")
        )
        self.warps, self.stages, self.group, self.parts = (
            np.asarray(configs[name], np.float64)
            for name in ("num_warps", "num_stages", "group_m", "split_k")
        )

    def columns(self) -> dict[str, Column]:
        """Return the features of GEMM_NAMES."""
        return {**self._workload(), **self._tiles(), **self.filling.columns(self.warps)}

    @property
    def tile(self) -> tuple[Column, Column]:
        """Rows and columns of a block."""
        return self.block_m, self.block_n

    @cached_property
    def rows(self) -> Column:
        """Tiles along the rows."""
        return ceil_divide(self.family.m, self.block_m)

    @cached_property
    def tiles(self) -> Column:
        """Tiles of the result."""
        return self.rows * ceil_divide(self.family.n, self.block_n)

    @cached_property
    def programs(self) -> Column:
        """Blocks of the first launch."""
        return self.tiles * self.parts * self.family.batch

    @cached_property
    def steps(self) -> Column:
        """Steps of the loop of a block."""
        steps = self.family.taps * ceil_divide(self.family.k, self.block_k)
        return ceil_divide(steps, self.parts)

    @cached_property
    def _fits_groups(self) -> np.ndarray:
        return np.asarray((self.warps % 4 == 0) & (self.block_m >= GROUP_ROWS))

    @cached_property
    def grouped(self) -> np.ndarray:
        """Whether warp groups multiply: the GPU has them and the operands' order allows it."""
        ordered = self.family.dtype != "tf32" or self.is_transposed
        return np.asarray(self._fits_groups & (self.family.target.arch == "sm_90" and ordered))

    @property
    def is_convolution(self) -> bool:
        """Whether every load needs its address computed first."""
        return "stride" in self.family.module

    @property
    def is_transposed(self) -> bool:
        """Whether the summed axis of the second operand is innermost, as in filters."""
        return bool(self.family.module.get("transposed", True))

    @cached_property
    def warp_grid(self) -> tuple[Column, Column]:
        """Warps along rows and columns of a tile, as Triton places them."""
        rows, columns = np.where(self.grouped, 4.0, 1.0), np.ones_like(self.warps)
        for _ in range(4):
            short = rows * columns < self.warps
            left = self.block_m / MMA_ROWS / rows
            tall = left >= self.block_n / (2 * MMA_COLUMNS) / columns
            down = short & (left > 1) & (self.grouped | tall)
            rows, columns = (
                np.where(down, rows * 2, rows),
                np.where(short & ~down, columns * 2, columns),
            )
        return rows, columns

    @cached_property
    def vectors(self) -> tuple[float, float, float]:
        """Bytes per load of each operand and per store of the result."""
        along_k = min(VECTOR, self.bytes * power_of_two_in(self.family.k, VECTOR))
        along_n = min(VECTOR, self.bytes * power_of_two_in(self.family.n, VECTOR))
        return along_k, along_k if self.is_transposed else along_n, along_n

    @cached_property
    def loads(self) -> tuple[Column, Column]:
        """Instructions per thread that load the two tiles of a step."""
        first, second, _ = self.vectors
        each = self.block_k * self.bytes / (32 * self.warps)
        return (
            np.maximum(self.block_m * each / first, 1),
            np.maximum(self.block_n * each / second, 1),
        )

    @cached_property
    def lines(self) -> Column:
        """Cache lines that the warps of a block touch to load the tiles of a step."""
        first, second, _ = self.vectors
        along = self.block_k * self.bytes
        across = along if self.is_transposed else self.block_n * self.bytes
        left = self.loads[0] * 32 * first / np.minimum(along, LINE)
        right = self.loads[1] * 32 * second / np.minimum(across, LINE)
        return self.warps * (left + right)

    @cached_property
    def step_bytes(self) -> Column:
        """Bytes of the tiles of a step."""
        return (self.block_m + self.block_n) * self.block_k * self.bytes

    @cached_property
    def through_shared(self) -> Column:
        """Bytes that warps or warp groups read from shared memory in a step."""
        rows, columns = self.warp_grid
        rows = np.where(self.grouped, rows / 4, rows)
        return (columns * self.block_m + rows * self.block_n) * self.block_k * self.bytes

    @cached_property
    def shared(self) -> Column:
        """Bytes of shared memory, as in ``Gemm.shared``."""
        held = np.maximum(1, self.stages - ~self._fits_groups)
        stored = np.where(self.parts > 1, 4.0, self.bytes)
        result = self.block_m * self.block_n * stored
        return np.asarray(np.maximum(self.step_bytes * held, result))

    @cached_property
    def per_thread(self) -> Column:
        """Accumulators per thread."""
        return self.block_m * self.block_n / (32 * self.warps)

    @cached_property
    def synchronous(self) -> np.ndarray:
        """Whether a step's tiles go through registers."""
        return np.asarray((self.stages == 1) | (min(self.vectors[:2]) < ASYNC))

    @cached_property
    def registers(self) -> Column:
        """Estimated registers of a thread."""
        pointer = 2.5 if self.is_convolution else 0.6
        waiting = np.where(self.synchronous & ~self.grouped, 12.0, 0.0)
        loads = self.loads[0] + self.loads[1]
        return 24 + 1.25 * self.per_thread + pointer * loads + waiting

    @cached_property
    def available(self) -> Column:
        """Registers available to a thread."""
        return np.minimum(MOST_REGISTERS, self.family.target.registers / (32 * self.warps))

    @cached_property
    def spilled(self) -> Column:
        """Estimated numbers per thread that do not fit in registers."""
        return np.maximum(self.registers - self.available, 0)

    @cached_property
    def filling(self) -> Filling:
        """How the blocks fill the GPU."""
        target = self.family.target
        held = self.shared if min(self.vectors[:2]) >= ASYNC else self.step_bytes
        return Filling.of(target, self.programs, self.warps, self.registers, held)

    @cached_property
    def parts_bytes(self) -> Column:
        """Bytes of the parts of a split sum."""
        total = 4.0 * self.family.batch * self.family.m * self.family.n
        return np.where(self.parts > 1, total * self.parts, 0)

    @cached_property
    def traffic(self) -> Column:
        """Bytes that all blocks request, as in ``Gemm.traffic``."""
        each = self.family.taps * self.family.k * (self.block_m + self.block_n) * self.bytes
        asked = self.family.batch * self.tiles * each + self.family.buffers()["out"].bytes
        return asked + 2 * self.parts_bytes

    @cached_property
    def loaded(self) -> Column:
        """Bytes that all blocks request from the L2 cache, including masked elements."""
        return self.programs * self.steps * self.step_bytes

    @cached_property
    def fetched(self) -> Column:
        """Bytes that come from memory; data shared by the tiles of a wave is fetched once."""
        at_once = np.minimum(self.tiles, self.family.target.sms * self.filling.resident)
        wide = self.tiles / self.rows
        columns = np.minimum(ceil_divide(at_once, np.minimum(self.group, self.rows)), wide)
        rows = np.minimum(ceil_divide(at_once, columns), self.rows)
        along = self.family.taps * self.family.k * self.bytes * self.family.batch
        again = self.tiles / at_once * (rows * self.block_m + columns * self.block_n) * along
        return np.maximum(again, self.family.bytes())

    def _workload(self) -> dict[str, Column]:
        module, epilogue = self.family.module, self.family.epilogue
        first, second, out = self.vectors
        numbers = {
            "transposed": float(self.is_transposed),
            "bias": float(epilogue.bias),
            "added": float(epilogue.add),
            "activation": {"": 0.0, "relu": 1.0, "relu6": 1.0}.get(epilogue.activation, 2.0),
            "stride": float(module.get("stride", 0)),
            "filter": float(module.get("r", 0)),
            "image": log(self.family.m / module["n"] if self.is_convolution else 0),
            "vector_a": log(first),
            "vector_b": log(second),
            "vector_out": log(out),
        }
        return {name: np.asarray(value) for name, value in numbers.items()}

    def _tiles(self) -> dict[str, Column]:
        rows, columns = self.warp_grid
        flops = 2 * self.block_m * self.block_n * self.block_k
        stored = np.where(self.parts > 1, 4.0, self.bytes)
        summed, covered = self.family.k, ceil_divide(self.family.k, self.block_k) * self.block_k
        walked = self.steps * self.parts * self.block_k
        return {
            "grouped": np.asarray(self.grouped, np.float64),
            "warp_rows": log(self.block_m / rows),
            "warp_columns": log(self.block_n / columns),
            "shared_intensity": log(flops / self.through_shared),
            "loads_a": log(self.loads[0]),
            "loads_b": log(self.loads[1]),
            "stores": log(self.per_thread * stored / self.vectors[2]),
            "masked": np.asarray(summed % (self.block_k * self.parts) != 0, np.float64),
            "registers": log(self.registers),
            "pressure": self.registers / self.available,
            "part_steps": log(self.steps),
            "filled": np.minimum(self.stages / self.steps, 1),
            "steps_waste": 1 - self.family.taps * summed / walked,
            "depth_waste": 1 - summed / covered,
            "tile_ratio": np.log2(self.block_m / self.block_n),
            "l2_bytes": log(self.loaded),
            "dram_bytes": log(self.fetched),
        }
