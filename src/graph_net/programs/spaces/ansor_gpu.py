"""Ansor's GPU schedules as features: how a program fills a device, and what it moves.

One row per program, from its steps alone: nothing is compiled. Numbers that depend on the device
are ratios to its limits, so that a model of one GPU can be used for another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_net.programs.spaces import ansor_lanes as lanes
from graph_net.programs.spaces.ansor_filling import MOST_REGISTERS, DeviceFilling
from graph_net.programs.spaces.ansor_operations import FLOAT_BYTES, Operation, operation_of
from graph_net.programs.spaces.ansor_tiles import (
    READS,
    REDUCE,
    SPACE,
    TOTALS,
    Table,
    Tiles,
    read_tiles,
)
from graph_net.programs.spaces.gpus import Gpu, find_gpu
from graph_net.programs.spaces.magnitudes import Floats
from graph_net.programs.spaces.space import SpaceError

VERSION = 1
KINDS = tuple("convolution depthwise matmul batched_matmul pooling elementwise reduction".split())
SIDES = ("rows", "columns", "both")
"""Spatial axes by the inputs that use them: only the first, only the second, both."""
LATENCY = 600.0
"""Cycles of a load from memory (a guess, equal for all GPUs)."""
COPY = 20.0
"""Instructions to copy an element, mostly for its index (a guess)."""
L2_SPEED = 3.0
"""Bandwidth of the L2 cache over that of memory (a guess)."""
LARGEST = 1e6
Columns = dict[str, Table]


def encode_gpu(workload: str, schedules: Sequence[str], gpu: Gpu) -> Floats:
    """Return a row of ``NAMES`` for each schedule of a workload on a GPU.

    Magnitudes are binary logarithms. Raise SpaceError if a schedule is not for a GPU or not for
    this workload.
    """
    if not schedules:
        return np.zeros((0, len(NAMES)), np.float32)
    operation = operation_of(workload)
    tiles = read_tiles(schedules, [read.stage for read in operation.reads] if operation else ())
    if operation and not _fits(operation, tiles):
        raise SpaceError(f"steps of another computation than {workload[:80]}")
    found = _columns(DeviceFilling(operation or _guessed(tiles), tiles, gpu))
    rows = np.stack([np.broadcast_to(column, len(schedules)) for column in found.values()], axis=1)
    return np.asarray(np.clip(rows, -LARGEST, LARGEST), np.float32)


def _fits(operation: Operation, tiles: Tiles) -> bool:
    """Return whether the split axes are those of the operation."""
    axes = np.zeros(SPACE + REDUCE)
    if len(operation.space) > SPACE or len(operation.reduce) > REDUCE:
        return False
    axes[: len(operation.space)] = operation.space
    axes[SPACE : SPACE + len(operation.reduce)] = operation.reduce
    return bool(((tiles.extent == 0) | (tiles.extent == axes)).all())


def _guessed(tiles: Tiles) -> Operation:
    """Return an operation with the extents that the first schedule splits."""
    extents = [max(1, int(extent)) for extent in tiles.extent[0]]
    return Operation("", tuple(extents[:SPACE]), tuple(extents[SPACE:]), ())


def _columns(filling: DeviceFilling) -> Columns:
    found: Columns = {}
    for part in (
        _of_task, _of_totals, _of_sides, _of_thread, _of_reads, _of_loads, _of_device, _of_time,
    ):  # fmt: skip
        found |= part(filling)
    return found


def _of_task(filling: DeviceFilling) -> Columns:
    """Return the columns that all programs of a task share."""
    operation, gpu = filling.operation, filling.gpu
    intensity = operation.flops / operation.bytes
    found = {f"is_{kind}": np.array(float(kind == operation.kind)) for kind in KINDS}
    found |= {
        "flops": _log(operation.flops),
        "outputs": _log(float(np.prod(operation.space))),
        "depth": _log(float(np.prod(operation.reduce))),
        "intensity": _log(intensity / (gpu.flops / gpu.bytes)),
        "window": _log(_window(operation)),
        "stride": _log(_stride(operation)),
        "last": _log(float(operation.space[-1])),
    }
    for side, axes in zip(SIDES, _sides(operation), strict=True):
        found[side] = _log(float(np.prod([operation.space[axis] for axis in axes])))
    return found


def _of_totals(filling: DeviceFilling) -> Columns:
    """Return the totals of a program's steps, and how much of it is unrolled."""
    total, tiles = filling.total, filling.tiles
    return {name: _log(total[name]) for name in TOTALS} | {
        "steps": _log(filling.steps),
        "middle": _log(tiles.middle.prod(axis=1)),
        "chunk": _log(tiles.chunk.prod(axis=1)),
        "last_chunk": _log((tiles.middle * tiles.chunk)[:, max(filling.sums - 1, 0)]),
        "rolled": _log(total["body"]) - _log(total["unrolled"]),
        "unroll_over_body": _log(total["unroll"] + 1) - _log(total["body"]),
        "unroll_over_work": _log(total["unroll"] + 1) - _log(filling.work),
    }


def _of_sides(filling: DeviceFilling) -> Columns:
    """Return the sizes of tiles by side and level."""
    tiles, found = filling.tiles, {}
    levels = {
        "vthread": tiles.vthread, "thread": tiles.thread, "outer": tiles.outer,
        "inner": tiles.inner,
    }  # fmt: skip
    for side, axes in zip(SIDES, _sides(filling.operation), strict=True):
        for level, table in levels.items():
            found[f"{side}_{level}"] = _log(table[:, axes].prod(axis=1))
        found[f"{side}_block"] = _log(filling.block[:, axes].prod(axis=1))
    for level, table in levels.items():
        found[f"last_{level}"] = _log(table[:, filling.space - 1])
    return found


def _of_thread(filling: DeviceFilling) -> Columns:
    """Return the work and registers of a thread, and the wasted part."""
    covered = filling.tiles.grid[:, : filling.space] * filling.block
    extents = np.array(filling.operation.space, float)
    return {
        "work": _log(filling.work),
        "work_inner": _log(filling.tiles.inner.prod(axis=1)),
        "waste": _log((covered / extents).prod(axis=1)),
        "lanes": filling.total["threads"] / filling.lanes,
        "needed": _log(filling.needed),
        "spilled": np.maximum(_log(filling.needed) - _log(MOST_REGISTERS), 0),
    }


def _of_reads(filling: DeviceFilling) -> Columns:
    """Return, for each input, what is cached, how it is copied and how threads read it."""
    found: Columns = {}
    threads, points = filling.total["threads"], filling.block.prod(axis=1) * filling.depth
    vector = np.maximum(filling.tiles.vector, 1)
    words, cycles = filling.words
    for number in range(READS):
        cached, rounds = filling.shared[:, number], np.maximum(filling.rounds[:, number], 1)
        columns = {
            "cached": _log(cached),
            "vector": _log(vector[:, number]),
            "rounds": _log(rounds),
            "busy": cached / (rounds * vector[:, number] * threads),
            "fragment": _log(filling.fragments[:, number]),
            "reuse": _log(points) - _log(cached),
            "run": _log(filling.runs[:, number]),
            "sectors": filling.sectors[:, number],
            "words": words[:, number],
            "cycles": cycles[:, number],
        }
        found |= {f"read{number}_{name}": column for name, column in columns.items()}
    return found


def _of_loads(filling: DeviceFilling) -> Columns:
    """Return what is loaded, copied and stored per unit of work."""
    tiles, work = filling.tiles, filling.work
    inner = (tiles.vthread * tiles.inner)[:, : filling.space]
    chunk = tiles.chunk[:, : filling.sums]
    least = filling.footprints(inner, chunk)
    words, _ = filling.words
    return {
        "store_sectors": lanes.store_sectors(
            filling.operation.space, tiles, filling.total["threads"], filling.gpu.warp
        ),
        "loads_per_work": _log(filling.fragments.sum(axis=1) / work),
        "words_per_work": _log((filling.fragments * words).sum(axis=1) / work),
        "copies_per_work": _log(filling.copies / (work * filling.depth)),
        "inner_loads_per_work": _log(least / (inner.prod(axis=1) * chunk.prod(axis=1))),
    }


def _of_device(filling: DeviceFilling) -> Columns:
    """Return how a program fills the device."""
    gpu, blocks, waves = filling.gpu, filling.total["blocks"], filling.waves
    shared = FLOAT_BYTES * filling.shared.sum(axis=1)
    resident = np.maximum(filling.resident, 1)
    busy = filling.present * filling.lanes
    return {
        "shared": _log(shared + 1) - _log(float(gpu.shared)),
        "registers": _log(filling.lanes * filling.registers) - _log(float(gpu.registers)),
        "resident": _log(resident),
        "fits": np.minimum(filling.resident, 1),
        "occupancy": resident * filling.lanes / gpu.threads,
        "warps_per_sm": _log(filling.present * filling.warps),
        "parallel_work": _log(busy * filling.work / gpu.lanes),
        "waves": _log(waves),
        "tail": waves / np.ceil(waves),
        "blocks_per_sm": _log(blocks / gpu.sms),
        "sm_tail": blocks / gpu.sms / np.ceil(blocks / gpu.sms),
    }


def _of_time(filling: DeviceFilling) -> Columns:
    """Return estimated times over the task's least time, one per possible bottleneck."""
    gpu, operation = filling.gpu, filling.operation
    ideal = max(operation.flops / gpu.flops, operation.bytes / gpu.bytes)
    times = _seconds(filling)
    times |= {
        "greatest": np.maximum.reduce(list(times.values())),
        "total": np.add.reduce(list(times.values())),
    }
    return {f"time_{name}": _log(seconds / ideal) for name, seconds in times.items()}


def _seconds(filling: DeviceFilling) -> Columns:
    gpu, blocks, work = filling.gpu, filling.total["blocks"], filling.work
    cycle, sums = 1e-6 / gpu.clock, filling.steps * filling.depth
    rounds, waves = np.ceil(blocks / gpu.sms), np.ceil(filling.waves)
    threads = rounds * filling.lanes / gpu.lanes * cycle
    fills = FLOAT_BYTES * blocks * filling.steps / (L2_SPEED * gpu.bytes)
    spread = (filling.runs + lanes.SECTOR - 1) / filling.runs
    fragments, (_, cycles) = filling.fragments, filling.words
    issued = sums * (work + fragments.sum(axis=1)) + filling.steps * filling.copies * COPY
    outputs = float(np.prod(filling.operation.space))
    return {
        "compute": threads * work * sums,
        "shared": rounds * filling.warps * (fragments * cycles).sum(axis=1) * sums * cycle,
        "copied": fills * filling.shared.sum(axis=1),
        "sectors": fills * (filling.shared * spread).sum(axis=1),
        "memory": FLOAT_BYTES * (waves * filling.unique + outputs) / gpu.bytes,
        "latency": waves * filling.steps * LATENCY * cycle,
        "issue": threads * issued,
    }


def _sides(operation: Operation) -> tuple[list[int], list[int], list[int]]:
    axes = [read.axes() for read in operation.reads]
    first = axes[0] if axes else set(range(len(operation.space)))
    second = axes[1] if len(axes) > 1 else set()
    space = range(len(operation.space))
    return (
        [axis for axis in space if axis in first and axis not in second],
        [axis for axis in space if axis in second and axis not in first],
        [axis for axis in space if axis in second and axis in first],
    )


def _window(operation: Operation) -> float:
    terms = [index for read in operation.reads[:1] for index in read.indices if len(index) > 1]
    return float(np.prod([operation.axes[index[1][0]] for index in terms]))


def _stride(operation: Operation) -> float:
    steps = [step for read in operation.reads[:1] for index in read.indices for _, step in index]
    return float(max(steps, default=1))


def _log(value: Table | float) -> Table:
    return np.asarray(np.log2(np.maximum(value, 2.0**-40)))


def _names() -> tuple[str, ...]:
    """Return the names of the columns, from the smallest possible program."""
    tiles = read_tiles(['[["AN", 0, 0, 5]]'])
    return tuple(_columns(DeviceFilling(_guessed(tiles), tiles, find_gpu("V100"))))


NAMES = _names()
"""The meaning of each number of a row."""
