"""Models that rank the layouts of unseen graphs, learned from measured layouts of others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graph_net.configs.layouts.call_features import Floats
from graph_net.configs.layouts.call_trees import RowTrees, fit_call_trees
from graph_net.configs.layouts.layout_examples import GraphLayouts

SETTINGS = {
    "objective": "regression", "learning_rate": 0.05, "num_leaves": 31, "min_data_in_leaf": 20,
    "verbose": -1, "num_threads": 1, "deterministic": True,
}  # fmt: skip
ROUNDS = 300
MEMBERS, DRAWN = 10, 0.8
"""Models of an ensemble, and the share of graphs that each learns from."""
LEAST_SPREAD = 0.01
SUMS, BLEND = "sums over calls", "sums over calls and LightGBM"
"""Names of models."""


class LayoutModel(Protocol):
    """Ranks the layouts of a graph."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return a number for each layout, lower if it should be faster."""
        ...


@dataclass
class HandTrees:
    """LightGBM on hand features."""

    booster: RowTrees
    name: str

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return the predicted label of each layout."""
        if not len(layouts):
            return np.zeros(0)
        return np.asarray(self.booster.predict(layouts.hand), np.float64)


class LayoutMember(Protocol):
    """One model of an ensemble."""

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return a number for each layout, lower if it should be faster."""
        ...


@dataclass
class MeanOfMembers:
    """The mean of several models, each learned from other graphs."""

    members: Sequence[LayoutMember]
    name: str

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return the mean of what the members predict for each layout."""
        return np.asarray(np.mean([one.predict(layouts) for one in self.members], axis=0))


@dataclass
class RankBlend:
    """The weighted mean of the ranks that models give to the layouts of a graph."""

    models: Sequence[tuple[LayoutModel, float]]
    name: str

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return the mean rank of each layout, from 0 to 1."""
        total = np.zeros(len(layouts))
        for model, weight in self.models:
            total += weight * ranks_of(model.predict(layouts))
        return total / sum(weight for _, weight in self.models)


def ranks_of(values: Floats) -> Floats:
    """Return the rank of each value, from 0 to 1; equal values share theirs."""
    if not len(values):
        return np.zeros(0)
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = ends - (counts + 1) / 2
    return np.asarray(middle[places.reshape(-1)] / max(1, len(values) - 1))


def fit_hand_trees(graphs: Sequence[GraphLayouts], seed: int = 0) -> HandTrees:
    """Learn the log of a layout's time over the original's: the baseline."""
    return fit_trees(graphs, [one.labels for one in graphs], seed, "LightGBM")


def fit_relative_trees(graphs: Sequence[GraphLayouts], seed: int = 0) -> HandTrees:
    """Learn the same less its mean within the graph, over its spread there."""
    wanted = [relative(one.labels) for one in graphs]
    return fit_trees(graphs, wanted, seed, "LightGBM, relative labels")


def relative(values: Floats) -> Floats:
    """Return numbers of a graph's layouts less their mean, over their spread."""
    return np.asarray((values - values.mean()) / max(values.std(), LEAST_SPREAD))


def fit_trees(
    graphs: Sequence[GraphLayouts], labels: Sequence[Floats], seed: int, name: str
) -> HandTrees:
    """Learn labels of layouts from hand features."""
    import lightgbm

    data = lightgbm.Dataset(np.concatenate([one.hand for one in graphs]), np.concatenate(labels))
    booster: Any = lightgbm.train({**SETTINGS, "seed": seed}, data, ROUNDS)
    return HandTrees(booster, name)


def fit_summed_calls(graphs: Sequence[GraphLayouts], seed: int = 0) -> MeanOfMembers:
    """Learn the cost of calls from graphs whose calls are known, some of the graphs at a time."""
    with_calls = [one for one in graphs if len(one.calls.count)]
    members = [fit_call_trees(drawn, number) for number, drawn in draw_graphs(with_calls, seed)]
    return MeanOfMembers(members, SUMS)


def fit_drawn_trees(graphs: Sequence[GraphLayouts], seed: int = 0) -> MeanOfMembers:
    """Learn relative labels from some of the graphs at a time."""
    members = [fit_relative_trees(drawn, number) for number, drawn in draw_graphs(graphs, seed)]
    return MeanOfMembers(members, "LightGBM, relative labels, drawn graphs")


def draw_graphs(
    graphs: Sequence[GraphLayouts], seed: int
) -> Iterator[tuple[int, list[GraphLayouts]]]:
    """Yield the seed of each member of an ensemble, and the graphs that it learns from."""
    for number in range(seed * MEMBERS, (seed + 1) * MEMBERS):
        draw = random.Random(number)  # noqa: S311
        yield number, draw.sample(list(graphs), max(1, int(DRAWN * len(graphs))))


def fit_blend(graphs: Sequence[GraphLayouts], seed: int = 0) -> RankBlend:
    """Learn sums over calls and relative trees; both rank."""
    return blend(fit_summed_calls(graphs, seed), fit_drawn_trees(graphs, seed))


def blend(calls: LayoutModel, hand: LayoutModel) -> RankBlend:
    """Return the blend of sums over calls, which count twice, and trees on hand features."""
    return RankBlend([(calls, 2.0), (hand, 1.0)], BLEND)


Fit = Callable[[Sequence[GraphLayouts], int], LayoutModel]
MODELS: Mapping[str, Fit] = {
    "LightGBM": fit_hand_trees,
    "LightGBM, relative labels": fit_relative_trees,
    SUMS: fit_summed_calls,
    BLEND: fit_blend,
}
"""Models by name; the first is the baseline."""


def fit_best(graphs: Sequence[GraphLayouts], seed: int = 0) -> LayoutModel:
    """Learn the best model that the data allows: without calls, trees on hand features."""
    has_calls = any(len(one.calls.count) for one in graphs)
    return fit_blend(graphs, seed) if has_calls else fit_relative_trees(graphs, seed)
