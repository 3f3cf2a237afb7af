"""NumpyTrees: LightGBM's trees evaluated with numpy, for machines without LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.tree_files import LightGbmTree, parse_lightgbm


@dataclass(frozen=True)
class NumpyTrees:
    """All trees of a model side by side: node ``j`` of tree ``i`` is at ``[i, j]``.

    A negative child is a leaf, in LightGBM's numbering: ``-1`` is leaf 0.
    """

    columns: int
    features: Ints
    thresholds: Floats
    lefts: Ints
    rights: Ints
    leaves: Floats
    depth: int
    """Splits on the longest path."""

    @staticmethod
    def read(text: str) -> NumpyTrees:
        """Return the trees of a LightGBM text; raise BadTrees on anything else."""
        columns, trees = parse_lightgbm(text)
        splits = max(1, *(len(tree.features) for tree in trees))
        return NumpyTrees(
            columns,
            _table([tree.features for tree in trees], splits).astype(np.int64),
            _table([tree.thresholds for tree in trees], splits),
            _table([_children(tree, tree.lefts) for tree in trees], splits, -1).astype(np.int64),
            _table([_children(tree, tree.rights) for tree in trees], splits, -1).astype(np.int64),
            _table([tree.leaves for tree in trees], splits + 1),
            max(_depth(tree) for tree in trees),
        )

    def predict(self, rows: NDArray[np.floating[Any]], /) -> Floats:
        """Return the sum of each row's leaves."""
        if rows.ndim != 2 or rows.shape[1] != self.columns:
            raise LearnError(f"trees of {self.columns} features, not {rows.shape[1:]}: learn anew")
        values = np.asarray(rows, np.float64)
        trees = np.arange(len(self.leaves))
        places = np.zeros((len(rows), trees.size), np.int64)
        owners = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            inner = np.maximum(places, 0)
            goes_left = values[owners, self.features[trees, inner]] <= self.thresholds[trees, inner]
            after = np.where(goes_left, self.lefts[trees, inner], self.rights[trees, inner])
            places = np.where(places >= 0, after, places)
        found: Floats = self.leaves[trees, -1 - places].sum(axis=1)
        return found


def _children(tree: LightGbmTree, side: Sequence[int]) -> Sequence[int]:
    """Return the children on one side; a tree of one leaf gets a split that leads to it."""
    return side if len(tree.leaves) > 1 else [-1]


def _table(lists: Sequence[Sequence[float]], width: int, empty: float = 0.0) -> Floats:
    table = np.full((len(lists), width), empty)
    for place, values in enumerate(lists):
        table[place, : len(values)] = values
    return table


def _depth(tree: LightGbmTree) -> int:
    """Return the splits on a tree's longest path; children come after their parents."""
    depths = [1] * max(len(tree.features), 1)
    for place, children in enumerate(zip(tree.lefts, tree.rights, strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = depths[place] + 1
    return max(depths)
