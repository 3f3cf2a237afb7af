"""Rank the layouts of graphs by what was learned from graphs of other families."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graph_net.configs.layouts.call_features import Floats
from graph_net.configs.layouts.layout_examples import CallCounts, GraphLayouts, Ints
from graph_net.configs.layouts.layout_models import Fit
from graph_net.learn.rank_metrics import kendall_tau
from graph_net.learn.studies.study import Study
from graph_net.results import Json
from graph_net.score.family import family_of

FOLDS = 5
FEWEST = 20
"""Layouts of a graph that τ is taken of."""
TAU, TAUS, SECONDS = "τ", "taus", "seconds"
SLOW, SLOWDOWNS = {1: "slowdown@1", 5: "slowdown@5"}, {1: "slowdowns@1", 5: "slowdowns@5"}
"""Names of a mean, and of the numbers of each graph."""


@dataclass(frozen=True)
class LayoutStudyData:
    """Measured layouts of graphs, and of others that nothing is learned from."""

    graphs: tuple[GraphLayouts, ...]
    others: tuple[GraphLayouts, ...] = ()


LayoutStudy = Study[LayoutStudyData]


def family(graph: GraphLayouts) -> str:
    """Return the family of a graph."""
    return family_of(*graph.name.split("/", 1))


def deal_families(graphs: Sequence[GraphLayouts], seed: int) -> dict[str, int]:
    """Return the fold of each family."""
    draw = random.Random(seed)  # noqa: S311
    return {name: draw.randrange(FOLDS) for name in sorted({family(one) for one in graphs})}


def slowdown(labels: Floats, scores: Floats, k: int) -> float:
    """Return what choosing the best of the k best-ranked costs over the best of all."""
    times = np.exp(labels)
    chosen = np.argsort(scores, kind="stable")[:k]
    return float(times[chosen].min() / times.min() - 1)


def judge_ranking(graph: GraphLayouts, scores: Floats) -> tuple[float, ...]:
    """Return τ and the slowdowns of a ranking."""
    slow = (slowdown(graph.labels, scores, k) for k in SLOW)
    return (kendall_tau(scores, graph.labels), *slow)


def judge_folds(graphs: Sequence[GraphLayouts], fit: Fit, seed: int) -> Mapping[str, Json]:
    """Learn from four folds at a time, judge on the fifth; return the figures of all graphs."""
    fold = deal_families(graphs, seed)
    found: dict[int, tuple[float, ...]] = {}
    seconds = 0.0
    for number in range(FOLDS):
        train = [one for one in graphs if fold[family(one)] != number]
        tested = [row for row, one in enumerate(graphs) if fold[family(one)] == number]
        if not train or not tested:
            continue
        begin = time.process_time()
        model = fit(train, seed)
        seconds += (time.process_time() - begin) / FOLDS
        for row in tested:
            found[row] = judge_ranking(graphs[row], model.predict(graphs[row]))
    rows = sorted(found)
    return figures([graphs[row] for row in rows], [found[row] for row in rows], seconds)


def figures(
    graphs: Sequence[GraphLayouts], found: Sequence[tuple[float, ...]], seconds: float
) -> Mapping[str, Json]:
    """Return the result of a training: means, the numbers of each graph, and its seconds."""
    columns = np.array(found, np.float64).reshape(len(graphs), 1 + len(SLOW))
    names = (TAU, *SLOW.values()), (TAUS, *SLOWDOWNS.values())
    result: dict[str, Json] = {
        "graphs": [one.name for one in graphs],
        "layouts": [len(one) for one in graphs],
        SECONDS: seconds,
    }
    for mean, each, column in zip(*names, columns.T, strict=True):
        result[mean], result[each] = float(column.mean()), column.tolist()
    return result


def select_layouts(graph: GraphLayouts, chosen: Ints) -> GraphLayouts:
    """Return some layouts of a graph, some of them perhaps several times."""
    calls = graph.calls
    ends = np.searchsorted(calls.layout, np.arange(len(graph) + 1))
    sizes = np.diff(ends)[chosen]
    starts = np.repeat(ends[chosen] - np.cumsum(sizes) + sizes, sizes)
    places = starts + np.arange(len(starts))
    return replace(
        graph,
        hand=graph.hand[chosen],
        moved=graph.moved[chosen],
        seconds=graph.seconds[chosen],
        labels=graph.labels[chosen],
        schedules=tuple(graph.schedules[row] for row in chosen),
        calls=CallCounts(
            calls.rows, np.repeat(np.arange(len(chosen)), sizes), calls.call[places],
            calls.count[places],
        ),
    )  # fmt: skip
