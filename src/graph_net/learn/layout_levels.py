"""Rank the layouts of a graph by level and by place within the level (``cost_levels``).

Each is the average of a Gaussian process over settings and of LightGBM. The process models settings
that add up; the trees find the one node that decides the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.learn.cost_levels import CostLevels, noise_of
from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats
from graph_net.learn.per_graph import Arrays, PerGraph, as_text
from graph_net.learn.setting_process import SettingProcess
from graph_net.learn.setting_trees import SettingTrees

END = "\n\x00\n"
"""Separator between the texts of boosters."""
_FIELDS = ("codes", "weights", "shares", "scales", "solved")


@dataclass(frozen=True)
class BlendedRanker:
    """A Gaussian process and trees for level centres, and the same for places within levels."""

    levels: CostLevels
    processes: tuple[SettingProcess, SettingProcess]
    trees: tuple[SettingTrees, SettingTrees]

    def predict(self, codes: NDArray[np.int32]) -> Floats:
        """Return overall positions of configurations; lower is faster."""
        centers, places = (
            (process.predict(codes) + trees.predict(codes)) / 2
            for process, trees in zip(self.processes, self.trees, strict=True)
        )
        return self.levels.join(centers, places)


class LayoutLevels(PerGraph[BlendedRanker]):
    """Levels and places, each by a Gaussian process and LightGBM."""

    name = "layout_levels"
    needs = "lightgbm"

    def fit_graph(
        self, codes: NDArray[np.int32], costs: Floats, samples: list[Floats]
    ) -> BlendedRanker:
        levels = CostLevels.of(costs, noise_of(samples, costs))
        runs = np.array([len(one) for one in samples], np.int64)
        weights = np.sqrt(runs.astype(np.float64))
        targets = (levels.centers[levels.level], levels.places)
        one, other = (SettingProcess.fit(codes, target, runs, self.seed) for target in targets)
        first, second = (SettingTrees.fit(codes, target, weights, self.seed) for target in targets)
        return BlendedRanker(levels, (one, other), (first, second))

    def rank_graph(self, ranker: BlendedRanker, codes: NDArray[np.int32]) -> Floats:
        return -ranker.predict(codes)

    def ranker_arrays(self, ranker: BlendedRanker) -> Arrays:
        arrays: dict[str, NDArray[Any]] = {
            "centers": ranker.levels.centers, "spreads": ranker.levels.spreads,
        }  # fmt: skip
        for word, process, trees in zip(
            ("level", "place"), ranker.processes, ranker.trees, strict=True
        ):
            arrays |= {f"{word}.{name}": getattr(process, name) for name in _FIELDS}
            arrays[f"{word}.pairs"] = trees.pairs
            text = END.join(trees.texts()).encode()
            arrays[f"{word}.trees"] = np.frombuffer(text, np.uint8)
        return arrays

    def ranker_of(self, arrays: Arrays) -> BlendedRanker:
        one, other = (_process(arrays, word) for word in ("level", "place"))
        first, second = (_trees(arrays, word) for word in ("level", "place"))
        empty = np.zeros(0, np.int64)
        levels = CostLevels(empty, arrays["centers"], arrays["spreads"], np.zeros(0))
        return BlendedRanker(levels, (one, other), (first, second))


def _process(arrays: Arrays, word: str) -> SettingProcess:
    found = SettingProcess(*(arrays[f"{word}.{name}"] for name in _FIELDS))
    settings = found.codes.shape[1]
    if found.weights.shape != (settings,) or found.solved.shape != (len(found.codes),):
        raise LearnError(f"the {word} process is not of {settings} settings")
    return found


def _trees(arrays: Arrays, word: str) -> SettingTrees:
    pairs = arrays[f"{word}.pairs"].reshape(-1, 2)
    settings = arrays[f"{word}.codes"].shape[1]
    if pairs.size and not 0 <= pairs[:, 0].min() <= pairs[:, 0].max() < settings:
        raise LearnError(f"trees of settings beyond the {settings} there are")
    return SettingTrees.read(pairs, as_text(arrays[f"{word}.trees"]).split(END))
