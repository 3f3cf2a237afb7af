"""Records like TenSet's, as many as are asked for: Ansor's lines of 2,308 subgraphs on 6 platforms.

Nothing is read: sizes of layers, tilings that divide them, the steps of Ansor's sketches for CPUs
and GPUs, costs over two orders of magnitude with 3 % noise, repeats by TenSet's rule, 3 % failures.
The same seed gives the same bytes. What the lines of a task have in common is formatted once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORKLOADS, PER_TASK = 2308, 3725
"""TenSet's subgraphs; 51.6 million records over 13,848 tasks are so many programs a task."""
FAILED, NOISE, SPREAD, RATE, VARIANTS = 0.03, 0.03, 1.2, 0.9, 6
ERRORS = (2, 4, 6, 7)
FAILURE = np.array([[1e10]])
Ints = NDArray[np.int64]
Item = int | str | Ints | list[int] | list[Ints] | list[int | Ints]
_CPU = "llvm -keys=cpu -link-params=0 -mcpu={} -model={}"
_CUDA = "cuda -keys=cuda,gpu -max_num_threads=1024 -model={} -thread_warp_size=32"
PLATFORMS = (
    (_CPU.format("skylake-avx512", "platinum-8272"), [16, 64, 64, 0, 0, 0, 0, 0]),
    (_CPU.format("core-avx2", "e5-2673"), [8, 32, 64, 0, 0, 0, 0, 0]),
    (_CPU.format("core-avx2", "epyc-7452"), [4, 32, 64, 0, 0, 0, 0, 0]),
    (_CPU.format("neoverse-n1", "graviton2"), [16, 16, 64, 0, 0, 0, 0, 0]),
    (_CUDA.format("k80"), [-1, 16, 64, 49152, 2147483647, 1024, 8, 32]),
    (_CUDA.format("t4"), [-1, 16, 64, 49152, 2147483647, 1024, 8, 32]),
)
TASKS = WORKLOADS * len(PLATFORMS)


@dataclass(frozen=True)
class Workload:
    """A subgraph: its key, and the extents of its loops."""

    key: str
    spatial: tuple[int, ...]
    reduced: tuple[int, ...]

    @property
    def flops(self) -> float:
        return 2.0 * float(np.prod(self.spatial)) * float(np.prod(self.reduced or (1,)))

    @property
    def repeats(self) -> int:
        """TenSet's rule."""
        if self.flops >= 2.4e9:
            return 4
        return 6 if self.flops >= 0.83e9 else 10 if self.flops <= 2.1e6 else 8


def workload(number: int, seed: int = 0) -> Workload:
    """One of the subgraphs; a third is known by a hash alone, as a fused graph is."""
    draw = np.random.default_rng([seed, 1, number])
    batch, size = int(draw.choice([1, 4, 8])), int(draw.choice([7, 14, 28, 56, 112]))
    channels, filters = (int(draw.choice([16, 24, 32, 64, 96, 128, 256, 512])) for _ in range(2))
    kernel = int(draw.choice([1, 1, 3, 3, 5]))
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "conv2d_layer": ((batch, filters, size, size), (channels, kernel, kernel)),
        "depthwise_conv2d_layer": ((batch, channels, size, size), (3, 3)),
        "matmul_layer": ((batch * 16, filters * 4), (channels * 4,)),
        "batch_matmul_layer": ((12 * batch, 128, 64), (channels,)),
        "pool_layer": ((batch, channels, size, size), ()),
        "relu_layer": ((batch, channels, size, size), ()),
    }
    name = str(draw.choice(list(shapes), p=[0.52, 0.17, 0.14, 0.11, 0.03, 0.03]))
    spatial, reduced = shapes[name]
    sizes = [*spatial, *reduced, number]
    if draw.random() < 1 / 3:
        name = md5(f"{name} {sizes}".encode(), usedforsecurity=False).hexdigest()
    return Workload(json.dumps([name, *sizes]), spatial, reduced)


@lru_cache(maxsize=4096)
def tilings(extent: int, levels: int) -> Ints:
    """Every way to split a loop: the inner lengths, whose product divides the extent."""
    divisors = [length for length in range(1, extent + 1) if extent % length == 0]
    found = [c for c in product(divisors, repeat=levels) if extent % int(np.prod(c)) == 0]
    return np.array(found, np.int64)


class Lines:
    """A line's text, where each ``%`` stands for a number of a column."""

    def __init__(self, draw: np.random.Generator, rows: int) -> None:
        self.draw, self.rows = draw, rows
        self.steps: list[str] = []
        self.columns: list[Ints] = []

    def step(self, kind: str, *items: Item) -> None:
        self.steps.append(f'["{kind}", {", ".join(map(self._text, items))}]')

    def _text(self, item: Item) -> str:
        if isinstance(item, np.ndarray):
            self.columns.append(item)
            return "%d"
        if isinstance(item, list):
            return f"[{', '.join(map(self._text, item))}]"
        return json.dumps(item)

    def split(self, stage: int, at: int, extent: int, levels: int) -> list[Ints]:
        """A random tiling in each row."""
        every = tilings(extent, levels)
        lengths = every[self.draw.integers(len(every), size=self.rows)]
        self.step("SP", stage, at, extent, list(lengths.T), 1)
        return list(lengths.T)

    def choice(self, values: list[int]) -> Ints:
        return self.draw.choice(values, size=self.rows)

    def unroll(self, stage: int, steps: list[int]) -> None:
        self.steps.append(f'["PR", {stage}, 0, "auto_unroll_max_step$%d"]')
        self.columns.append(self.choice(steps))


def cpu(lines: Lines, work: Workload, variant: int) -> None:
    """Ansor's sketch of five levels of tiles; variants fuse, place and vectorise otherwise."""
    loops, sums = len(work.spatial), len(work.reduced)
    if not sums:
        lines.step("FU", 1, list(range(loops - variant % 2)))
        lines.step("AN", 1, 0, 3)
        lines.unroll(1, [0, 16, 64, 512])
        return
    for loop, extent in enumerate(work.spatial):
        lines.split(3, 4 * loop, extent, 3)
    for loop, extent in enumerate(work.reduced):
        lines.split(3, 4 * loops + 2 * loop, extent, 1)
    tiles = [[4 * loop + level for loop in range(loops)] for level in range(4)]
    inner = [[4 * loops + 2 * loop + level for loop in range(sums)] for level in range(2)]
    lines.step("RE", 3, [*tiles[0], *tiles[1], *inner[0], *tiles[2], *inner[1], *tiles[3]])
    for loop in range(loops):
        lines.step("FSP", 6, 3 * loop, 1 + loop, 2)
    lines.step("RE", 6, [3 * loop + level for level in range(3) for loop in range(loops)])
    lines.step("CA", 3, 6, 2 * loops - 1)
    if variant % 3 == 0:
        lines.step("CI", 1)
    else:
        lines.step("CA", 1, 6, lines.choice(list(range(2 * loops))))
    lines.step("FU", 6, list(range(loops + variant % 2)))
    lines.step("AN", 6, 0, 3)
    lines.unroll(3, [0, 16, 64, 512])
    if variant % 4:
        lines.step("AN", 3, 4 * loops + 2 * sums - 1, 2)


def cuda(lines: Lines, work: Workload, variant: int) -> None:
    """Ansor's sketch with shared memory; variants have more or fewer cached inputs."""
    loops, sums = len(work.spatial), len(work.reduced)
    if not sums:
        lines.step("FU", 1, list(range(loops)))
        lines.step("SP", 1, 0, int(np.prod(work.spatial)), [lines.choice([4, 8, 16, 32, 64])], 1)
        lines.step("AN", 1, 0, 5)
        lines.step("AN", 1, 1, 6)
        lines.unroll(1, [0, 16, 64, 512, 1024])
        return
    lines.step("CHW", 3, "local")
    tiles = [lines.split(3, 5 * at, extent, 4) for at, extent in enumerate(work.spatial)]
    for loop, extent in enumerate(work.reduced):
        lines.split(3, 5 * loops + 3 * loop, extent, 2)
    outer = [5 * loop + level for level in range(3) for loop in range(loops)]
    middle = [5 * loops + 3 * loop + level for level in range(2) for loop in range(sums)]
    rest = [5 * loop + 3 for loop in range(loops)] + [5 * loops + 3 * s + 2 for s in range(sums)]
    lines.step("RE", 3, [*outer, *middle, *rest, *(5 * loop + 4 for loop in range(loops))])
    for loop in range(loops):
        lines.step("FSP", 4, 4 * loop, 1 + loop, 3)
    lines.step("RE", 4, [4 * loop + level for level in range(4) for loop in range(loops)])
    lines.step("CA", 3, 4, 3 * loops - 1)
    cached = 1 + variant % 2
    for one in range(cached):
        lines.step("CHR", 2 - one, "shared", [3 + one])
        lines.step("CA", 3 - one, 4 + one, 3 * loops + sums - 1)
    for level, kind in enumerate((5, 4, 6)):
        lines.step("FU", 6, list(range(level, level + loops)))
        lines.step("AN", 6, level, kind)
    for one in range(cached):
        fetched = tiles[-1 - one][1] * tiles[-1 - one][2] * tiles[0][3]
        lines.step("FU", 4 - 2 * one, list(range(loops)))
        lines.step("SP", 4 - 2 * one, 0, fetched, [lines.choice([1, 2, 4])], 1)
        lines.step("AN", 4 - 2 * one, 1, 2)
        lines.step("FFSP", 4 - 2 * one, 0, list(range(loops, 0, -1)), 1, 1)
        lines.step("AN", 4 - 2 * one, 1, 6)
    lines.unroll(5, [0, 16, 64, 512, 1024])


def task_lines(number: int, rows: int, seed: int = 0) -> list[str]:
    """The records of a task, in the order they were measured."""
    subgraph, place = divmod(number, len(PLATFORMS))  # so that a part of the set has all of them
    work = workload(subgraph, seed)
    draw = np.random.default_rng([seed, 2, number])
    target, hardware = PLATFORMS[place]
    head = json.dumps([work.key, target, hardware, "", 0, []]).replace("%", "%%")
    kinds = draw.integers(VARIANTS, size=rows) + VARIANTS * (draw.random(rows) < FAILED)
    stamps = 1_600_000_000 + 5000 * number + np.cumsum(draw.random(rows) < RATE)
    best = work.flops / draw.uniform(5e9, 5e11) + 2e-6
    found = np.empty(rows, object)
    for kind in np.unique(kinds).tolist():
        chosen = np.flatnonzero(kinds == kind)
        lines = Lines(draw, len(chosen))
        (cuda if target.startswith("cuda") else cpu)(lines, work, kind % VARIANTS)
        costs = best * np.exp(SPREAD * np.abs(draw.standard_normal((len(chosen), 1))))
        costs = costs * (1 + NOISE * draw.standard_normal((len(chosen), work.repeats)))
        times, error = (FAILURE, int(draw.choice(ERRORS))) if kind >= VARIANTS else (costs.T, 0)
        result = f"[[{', '.join(['%.6g'] * len(times))}], {error}, %.6g, %d]"
        text = f'{{"i": [{head}, [[], [{", ".join(lines.steps)}]]], "r": {result}, "v": "v0.6"}}\n'
        took = draw.uniform(0.5, 4, len(chosen))
        columns = [*lines.columns, *np.broadcast_to(times, (len(times), len(chosen)))]
        rows_of = zip(*(one.tolist() for one in (*columns, took, stamps[chosen])), strict=True)
        found[chosen] = [text % row for row in rows_of]
    return list(found)


def write_shard(path: Path, first: int, records: int, seed: int = 0) -> int:
    """A file of the records of some tasks, one after the other; how many bytes that were."""
    with path.open("w") as file:
        for number in range(first, TASKS):
            rows = min(PER_TASK, records)
            file.writelines(task_lines(number, rows, seed))
            records -= rows
            if not records:
                break
        return file.tell()


def shards(records: int, size: int) -> Iterator[tuple[int, int]]:
    """The first task and the number of records of each file of a set."""
    tasks = max(1, size // PER_TASK)
    for first in range(0, TASKS, tasks):
        taken = min(records, tasks * PER_TASK)
        if taken <= 0:
            return
        yield first, taken
        records -= taken
    if records > 0:
        raise ValueError(f"{TASKS} tasks of {PER_TASK} programs are {records} too few")
