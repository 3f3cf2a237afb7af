"""ChoiceRule: the operations that a model of choices is asked about, and how many it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graph_net.learn.metrics import Floats
from graph_net.programs.triton.features import VERSION
from graph_net.programs.triton.gemm import DOT, Gemm
from graph_net.search.inductor.tile import Tile

SIZES = ("rows", "columns", "depth", "taps", "batch", "shared")
"""Features of the operation itself, whose ranges define the domain."""
MOST_MEMBERS, MOST_KEPT = 16, 64


@dataclass(frozen=True)
class KernelRule:
    """The training operations of one kernel, and how many of its choices are kept."""

    dtypes: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    """Largest SIZES of the training operations (``lows`` has the smallest)."""
    margin: float
    """Tiles whose predicted log time is this close to the best are kept."""
    doubt: float
    """Added to the margin per standard deviation between the members."""
    most: int
    effort: Mapping[str, float] = field(default_factory=dict)
    """Seconds of compiling a tile, over those of the median tile; 1 for others."""
    budget: float = float(MOST_KEPT)
    """Most effort of all tiles that are kept; the best is kept in any case."""
    seconds: float = 1.0
    """Mean seconds of compiling a tile, to weigh kernels by."""

    def __post_init__(self) -> None:
        if len(self.lows) != len(SIZES) or len(self.highs) != len(SIZES):
            raise ValueError(f"a kernel has a range of each of {', '.join(SIZES)}: train it anew")
        if not 1 <= self.most <= MOST_KEPT:
            raise ValueError(f"a rule keeps 1 to {MOST_KEPT} choices")
        if self.margin < 0 or self.doubt < 0:
            raise ValueError("a margin and a doubt are not negative")
        if min([*self.effort.values(), self.budget, self.seconds]) <= 0:
            raise ValueError("an effort, a budget and seconds are positive")

    def has(self, family: Gemm) -> bool:
        """Return whether the dtype is known, and each size within a factor of two."""
        sizes = log_sizes(family)
        low, high = np.array(self.lows) - 1, np.array(self.highs) + 1
        return family.dtype in self.dtypes and bool(((sizes >= low) & (sizes <= high)).all())

    def efforts(self, tiles: Sequence[Tile]) -> Floats:
        """Return the effort of compiling each tile."""
        return np.array([self.effort.get(tile.key, 1.0) for tile in tiles], np.float64)

    def keep(self, tiles: Sequence[Tile], mean: Floats, spread: Floats) -> list[int]:
        """Return the indices of the tiles to compile, the best first; at least one of any.

        A tile that takes twice as long to compile has to be twice as close to the best.
        """
        if not tiles:
            return []
        order = np.argsort(-mean, kind="stable")
        behind, efforts = mean[order[0]] - mean[order], self.efforts(tiles)[order]
        near = behind <= self.margin / efforts + self.doubt * spread[order]
        affordable = np.cumsum(efforts[near]) <= self.budget
        affordable[:1] = True
        return [int(place) for place in order[near][affordable][: self.most]]


@dataclass(frozen=True)
class ChoiceRule:
    """The rules of all kernels of a model, and the GPU that they are for."""

    arch: str
    kernels: Mapping[str, KernelRule]
    members: int
    device: str = "cuda"
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"features of version {self.version}, not {VERSION}: train it anew")
        if not 1 <= self.members <= MOST_MEMBERS:
            raise ValueError(f"a model has 1 to {MOST_MEMBERS} members")

    def of(self, family: Gemm) -> KernelRule:
        """Return the rule of an operation's kernel, which must be known."""
        return self.kernels[family.module["kernel"]]


def log_sizes(family: Gemm) -> Floats:
    """Return SIZES of an operation as magnitudes; a side below DOT fills a block as DOT does."""
    shared = family.module.get("shared", 1)
    sides = (max(side, DOT) for side in (family.m, family.n, family.k))
    return np.log2(1 + np.array((*sides, family.taps, family.batch, shared), np.float64))
