"""Analytical costs with a correction, families from architecture search, and two compilers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graph_net.configs.layouts.call_features import Floats
from graph_net.configs.layouts.call_trees import sum_calls
from graph_net.configs.layouts.layout_examples import GraphLayouts
from graph_net.configs.layouts.layout_models import (
    MODELS,
    Fit,
    HandTrees,
    LayoutModel,
    fit_trees,
    relative,
)
from graph_net.learn.learning_set import LearnError
from graph_net.learn.paired import compare_models
from graph_net.learn.rank_metrics import kendall_tau
from graph_net.learn.studies.layout_folds import (
    SECONDS,
    SLOW,
    TAU,
    TAUS,
    LayoutStudy,
    LayoutStudyData,
    figures,
    judge_folds,
    judge_ranking,
)
from graph_net.learn.studies.study import (
    Settings,
    StudyCell,
    StudyPicture,
    format_lead,
    format_spread,
    group,
    lead,
    markdown_table,
    mean_and_spread,
)
from graph_net.results import Json

SHOWN = (TAU, *SLOW.values())


@dataclass
class CostRanker:
    """A cost that nothing is learned for."""

    cost: Callable[[GraphLayouts], Floats]
    name: str

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return the cost of each layout."""
        return self.cost(layouts)


def roofline_cost(graph: GraphLayouts) -> Floats:
    """Return the roofline seconds of each layout's calls, less the original's, over its time."""
    sums = sum_calls([graph])
    return sums.total(np.ones(len(sums.features)))


@dataclass
class Corrected:
    """The roofline, in units of its spread within a graph, and trees on what it misses."""

    trees: HandTrees
    slope: float
    name: str

    def predict(self, layouts: GraphLayouts) -> Floats:
        """Return the corrected cost of each layout."""
        return self.slope * relative(roofline_cost(layouts)) + self.trees.predict(layouts)


def fit_corrected(graphs: Sequence[GraphLayouts], seed: int = 0) -> Corrected:
    """Learn one slope of the roofline for all graphs, then trees on the rest."""
    costs = [relative(roofline_cost(one)) for one in graphs]
    labels = [relative(one.labels) for one in graphs]
    pairs = list(zip(costs, labels, strict=True))
    slope = sum(float(c @ y) for c, y in pairs) / max(1e-9, sum(float(c @ c) for c, _ in pairs))
    name = ROOFLINE + " + LightGBM"
    trees = fit_trees(graphs, [y - slope * c for c, y in pairs], seed, name)
    return Corrected(trees, slope, name)


BYTES, ROOFLINE = "bytes moved", "roofline of calls"
TREES, CALLS = "LightGBM, relative labels", "sums over calls"
COSTS: Mapping[str, Callable[[GraphLayouts], Floats]] = {
    BYTES: lambda graph: graph.moved,
    ROOFLINE: roofline_cost,
}


def fit_of(name: str) -> Fit:
    """Return how a model is learned; analytical costs are not."""
    if name in COSTS:
        return lambda _graphs, _seed: CostRanker(COSTS[name], name)
    return MODELS.get(name, fit_corrected)


class LayoutAnalytical(LayoutStudy):
    """Analytical costs, with and without a learned correction."""

    name = "layout_analytical"
    title = "An analytical cost of layouts, and a learned correction"
    models: tuple[str, ...] = (BYTES, ROOFLINE, TREES, f"{ROOFLINE} + LightGBM", CALLS)
    about = (
        "Costs that nothing is learned for (the bytes of copies; the roofline seconds of calls), "
        "trees on hand features alone, trees on what the roofline misses, and “sums over calls”: "
        "the roofline of each call times a factor that is learned. Learned models are judged on "
        "graphs of other families than they saw (five folds). “Ahead” is the difference of τ from "
        "the roofline's, graph by graph, with a 95 % interval. Seconds are of a training."
    )

    def cells(self, data: LayoutStudyData, seeds: Sequence[int]) -> list[Settings]:
        return [{"model": model, "seed": seed} for model in self.models for seed in seeds]

    def compute(self, data: LayoutStudyData, settings: Settings) -> Mapping[str, Json]:
        return judge_folds(data.graphs, fit_of(str(settings["model"])), int(str(settings["seed"])))

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups = group(cells, "model")
        base, rows = groups.get((ROOFLINE,)), []
        for (model,), mine in groups.items():
            ahead = format_lead(lead(mine, base, TAUS)) if base and model != ROOFLINE else ""
            seconds = f"{mean_and_spread(mine, SECONDS)[0]:.1f}"
            rows.append([model, *(format_spread(mine, name) for name in SHOWN), ahead, seconds])
        return markdown_table(["model", *SHOWN, "ahead", "seconds"], rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = [
            (model, [(0.0, *mean_and_spread(mine, TAU))])
            for (model,), mine in group(cells, "model").items()
        ]
        return StudyPicture(lines[::-1], "", "Kendall τ, unseen families", bars=True)


class LayoutUnseen(LayoutStudy):
    """Models that are judged on another collection, such as graphs from architecture search."""

    name = "layout_unseen"
    title = "Graphs from architecture search as unseen families"
    models: tuple[str, ...] = (BYTES, ROOFLINE, TREES, CALLS, "sums over calls and LightGBM")
    seen, unseen = "own folds", "unseen"
    about = (
        "Learned from all graphs of the first collection and judged on the second (--spaces), "
        "none of whose graphs is in the first. The columns “own folds” are the same models on the "
        "first collection, its families dealt into five folds: what unseen families of the usual "
        "kind give."
    )

    def cells(self, data: LayoutStudyData, seeds: Sequence[int]) -> list[Settings]:
        if not data.others:
            raise LearnError(f"the study {self.name} needs --spaces: layouts to judge on")
        sides = (self.unseen, self.seen)
        return [
            {"model": model, "judged": side, "seed": seed}
            for model in self.models
            for side in sides
            for seed in seeds
        ]

    def compute(self, data: LayoutStudyData, settings: Settings) -> Mapping[str, Json]:
        fit, seed = fit_of(str(settings["model"])), int(str(settings["seed"]))
        if settings["judged"] == self.seen:
            return judge_folds(data.graphs, fit, seed)
        begin = time.process_time()
        model: LayoutModel = fit(data.graphs, seed)
        seconds = time.process_time() - begin
        found = [judge_ranking(one, model.predict(one)) for one in data.others]
        return figures(data.others, found, seconds)

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups, rows = group(cells, "model", "judged"), []
        base = groups.get((ROOFLINE, self.unseen))
        for model in self.models:
            sides = [groups.get((model, side)) for side in (self.unseen, self.seen)]
            if not sides[0] or not sides[1] or not base:
                continue
            ahead = format_lead(lead(sides[0], base, TAUS)) if model != ROOFLINE else ""
            own = [format_spread(sides[0], name) for name in SHOWN]
            rows.append([model, *own, ahead, *(format_spread(sides[1], n) for n in SHOWN[:2])])
        heads = ["model", *SHOWN, "ahead of the roofline", "own folds: τ", "slowdown@1"]
        return markdown_table(heads, rows) + "\n\n" + self._by_graph(groups)

    def _by_graph(self, groups: Mapping[tuple[str, ...], Sequence[StudyCell]]) -> str:
        taus: dict[str, Any] = {
            model: np.mean([cell.numbers(TAUS) for cell in cells], axis=0)
            for (model, side), cells in groups.items()
            if side == self.unseen
        }
        cells = [mine[0] for (_, side), mine in groups.items() if side == self.unseen]
        names = cells[0].result["graphs"] if cells else []
        assert isinstance(names, list)
        rows = [
            [str(name), *(f"{own[row]:.3f}" for own in taus.values())]
            for row, name in enumerate(names)
        ]
        return markdown_table(["τ of graph", *taus], rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = [
            (f"{model}: {side}", [(0.0, *mean_and_spread(mine, TAU))])
            for (model, side), mine in group(cells, "model", "judged").items()
        ]
        return StudyPicture(lines[::-1], "", "Kendall τ", bars=True)


class LayoutCompilers(LayoutStudy):
    """Two compilers' times of the same layouts."""

    name = "layout_compilers"
    title = "The ranking of layouts by eager and by Inductor"
    about = (
        "The same layouts of a graph, run by eager and through another compiler (--spaces): τ "
        "between their times, and what the fastest of one costs in the other. Nothing is learned."
    )

    def cells(self, data: LayoutStudyData, seeds: Sequence[int]) -> list[Settings]:
        if not data.others:
            raise LearnError(f"the study {self.name} needs --spaces: layouts by another compiler")
        return [{"graph": one.graph, "name": one.name, "seed": 0} for one in data.others]

    def compute(self, data: LayoutStudyData, settings: Settings) -> Mapping[str, Json]:
        other = next(one for one in data.others if one.graph == settings["graph"])
        eager = [one for one in data.graphs if one.graph == other.graph]
        first = _by_schedule(eager[0]) if eager else {}
        second = _by_schedule(other)
        common = sorted(first.keys() & second.keys())
        if len(common) < 3:
            return {"layouts": len(common)}
        one, two = (np.array([labels[text] for text in common]) for labels in (first, second))
        return {
            "layouts": len(common),
            TAU: kendall_tau(one, two),
            "cost": float(np.exp(two[one.argmin()] - two.min()) - 1),
        }

    def table(self, cells: Sequence[StudyCell]) -> str:
        judged = [cell for cell in cells if TAU in cell.result]
        rows = [
            [cell.setting("name"), f"{cell.number('layouts'):.0f}", f"{cell.number(TAU):+.3f}",
             f"{cell.number('cost'):.1%}"]
            for cell in judged
        ]  # fmt: skip
        if len(judged) > 1:
            taus = np.array([cell.number(TAU) for cell in judged])
            mean = compare_models(taus, np.zeros(len(taus)))[0]
            total = sum(cell.number("layouts") for cell in judged)
            cost = np.mean([cell.number("cost") for cell in judged])
            rows.append(["mean", f"{total:.0f}", format_lead(mean), f"{cost:.1%}"])
        return markdown_table(
            ["graph", "layouts", "τ", "eager's fastest costs the other compiler"], rows
        )

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        judged = [cell for cell in cells if TAU in cell.result]
        lines = [(cell.setting("name"), [(0.0, cell.number(TAU), 0.0)]) for cell in judged]
        return StudyPicture(lines[::-1], "", "Kendall τ between the two", bars=True)


def _by_schedule(graph: GraphLayouts) -> dict[str, float]:
    return dict(zip(graph.schedules, graph.labels.tolist(), strict=True))
