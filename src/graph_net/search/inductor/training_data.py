"""Inductor's timings and our own kernels' programs as training sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graph_net.learn.learning_set import LearnError, LearningSet, LearningTask, tabular_set
from graph_net.programs.triton.features import NAMES
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.occupancy import log
from graph_net.programs.triton.target import Target
from graph_net.search.inductor.case import KernelCase, kind_of
from graph_net.search.inductor.choice_model import COLUMNS, tile_rows
from graph_net.search.inductor.template_call import key_of
from graph_net.search.inductor.tile import Tile
from graph_net.search.inductor.timed_call import TRITON, TimedCall

LEAST = 4
"""Least tiles that ran, for an operation to be learned from."""
KERNELS = ("matmul", "batched_matmul", "convolution")


@dataclass(frozen=True)
class TimedTiles:
    """The tiles of one operation with their milliseconds, and the best time of other choices."""

    family: Gemm
    tiles: tuple[Tile, ...]
    times: tuple[float, ...]
    """Milliseconds of each tile; infinite for a failure."""
    default: tuple[bool, ...]
    others: float
    """Least milliseconds of ATen and all other choices that are not tiles."""
    weights: Mapping[str, int]
    compiling: tuple[float | None, ...] = ()
    """Seconds of compiling each tile, if they were measured."""

    @property
    def kernel(self) -> str:
        """The name of its kernel."""
        return str(self.family.module["kernel"])

    @property
    def kind(self) -> str:
        """The kind of its kernel."""
        return kind_of(self.kernel)

    @property
    def key(self) -> str:
        """The name of the operation."""
        return key_of(self.family.module)


def timed_tiles(
    timed: Iterable[TimedCall], target: Target, cases: Sequence[KernelCase]
) -> list[TimedTiles]:
    """Return the journal's operations that were measured for cases, each once."""
    weights = {case.key: case.weights for case in cases}
    found: dict[str, TimedTiles] = {}
    for one in timed:
        family = one.call.family(target)
        if one.case not in weights or family is None:
            continue
        tiled = [choice for choice in one.choices if choice.kind == TRITON and not choice.by_host]
        times = tuple(choice.milliseconds or np.inf for choice in tiled)
        if np.isfinite(times).sum() < LEAST:
            continue
        rest = [choice.milliseconds for choice in one.choices if choice.kind != TRITON]
        others = min((time for time in rest if time is not None), default=np.inf)
        tiles = tuple(choice.tile for choice in tiled if choice.tile is not None)
        own = tuple(choice.default for choice in tiled)
        compiling = tuple(choice.compiled for choice in tiled)
        found[one.case] = TimedTiles(
            family, tiles, times, own, others, weights[one.case], compiling
        )
    return list(found.values())


def inductor_set(operations: Sequence[TimedTiles]) -> LearningSet:
    """Return the tiles of operations as programs of tasks."""
    if not operations:
        raise LearnError("no operation was measured for a case: collect with these cases first")
    rows = [tile_rows(one.family, one.tiles) for one in operations]
    owners = np.repeat(np.arange(len(operations)), [len(one.tiles) for one in operations])
    costs = np.concatenate([np.asarray(one.times) / 1e3 for one in operations])
    tasks = tuple(
        LearningTask(
            one.key,
            one.kernel,
            "inductor",
            {network: float(often) for network, often in one.weights.items()},
            one.key,
        )
        for one in operations
    )
    return tabular_set(COLUMNS, np.concatenate(rows), costs, owners, tasks)


def kernel_set(source: Path, held_out: frozenset[str]) -> LearningSet:
    """Return our own kernels' programs of a data set, less those of held-out networks.

    Split sums are left out: Inductor's templates have none.
    """
    from graph_net.learn.read_set import read_set

    data = read_set(source).data
    if data.columns != NAMES or not data.is_tabular:
        raise LearnError(f"{source} has no programs of Triton kernels")
    networks = [{name.partition("@")[0] for name in task.weights} for task in data.tasks]
    out = {name.partition("@")[0] for name in held_out}
    good = np.array([not names & out for names in networks])[data.programs.tasks]
    products = data.rows[:, [NAMES.index(f"is_{kernel}") for kernel in KERNELS]].any(axis=1)
    whole = data.rows[:, NAMES.index("split_k")] == log(1)
    kept = np.flatnonzero(good & products & whole)
    part = data.take(_with_a_choice(data, kept))
    more = len(COLUMNS) - len(NAMES)
    rows = np.hstack([part.rows, np.zeros((len(part), more), np.float32)])
    return tabular_set(COLUMNS, rows, part.programs.costs, part.programs.tasks, part.tasks)


def _with_a_choice(data: LearningSet, kept: np.ndarray) -> np.ndarray:
    """Return the programs of tasks in which at least one program ran."""
    ran = kept[np.isfinite(data.programs.costs[kept])]
    return kept[np.isin(data.programs.tasks[kept], data.programs.tasks[ran])]


def join(sets: Sequence[LearningSet]) -> LearningSet:
    """Return the programs of several sets with the same features."""
    counts = np.cumsum([0, *(len(one.tasks) for one in sets)])
    owners = [one.programs.tasks + before for one, before in zip(sets, counts, strict=False)]
    return tabular_set(
        COLUMNS,
        np.concatenate([one.rows for one in sets]),
        np.concatenate([one.programs.costs for one in sets]),
        np.concatenate(owners),
        tuple(task for one in sets for task in one.tasks),
    )
