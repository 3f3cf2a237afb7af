"""What does it cost that a few families have most of the layouts, and what does sampling repair?"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import numpy as np

from graph_net.configs.layouts.call_trees import fit_call_trees
from graph_net.configs.layouts.layout_examples import GraphLayouts
from graph_net.configs.layouts.layout_models import (
    MODELS,
    Fit,
    LayoutModel,
    MeanOfMembers,
)
from graph_net.learn.studies.layout_folds import (
    SLOW,
    TAU,
    TAUS,
    LayoutStudy,
    LayoutStudyData,
    family,
    judge_folds,
    select_layouts,
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
from graph_net.score.family import family_of

LARGE = 8
"""One family in this many keeps all its layouts; of the others one in this many is kept."""
ALL, EVEN, SKEWED, DRAWN = "all", "even", "skewed", "skewed, families drawn alike"
Sampling = Callable[[Sequence[GraphLayouts], int], list[GraphLayouts]]


def even(graphs: Sequence[GraphLayouts], seed: int) -> list[GraphLayouts]:
    """Return as many layouts as ``skewed`` does, the same share of every graph."""
    share = sum(map(len, skewed(graphs, seed))) / max(1, sum(map(len, graphs)))
    return [_part(one, share, seed) for one in graphs]


def skewed(graphs: Sequence[GraphLayouts], seed: int) -> list[GraphLayouts]:
    """Return all layouts of a few families, and few of the others."""
    names = sorted({family(one) for one in graphs})
    draw = random.Random(seed)  # noqa: S311
    large = set(draw.sample(names, -(-len(names) // LARGE)))
    return [one if family(one) in large else _part(one, 1 / LARGE, seed) for one in graphs]


def drawn_alike(graphs: Sequence[GraphLayouts], seed: int) -> list[GraphLayouts]:
    """Return ``skewed``, layouts repeated so that every family has as many as the largest."""
    kept = skewed(graphs, seed)
    sizes: dict[str, int] = defaultdict(int)
    for one in kept:
        sizes[family(one)] += len(one)
    most, draw = max(sizes.values()), np.random.default_rng(seed)
    drawn = []
    for one in kept:
        count = max(len(one), round(len(one) * most / sizes[family(one)]))
        extra = draw.integers(len(one), size=count - len(one))
        drawn.append(select_layouts(one, np.concatenate([np.arange(len(one)), extra])))
    return drawn


def _part(graph: GraphLayouts, share: float, seed: int) -> GraphLayouts:
    draw = random.Random(f"{seed} {graph.graph}")  # noqa: S311
    count = max(2, round(share * len(graph)))
    return select_layouts(graph, np.array(sorted(draw.sample(range(len(graph)), count))))


SAMPLINGS: Mapping[str, Sampling] = {
    ALL: lambda graphs, _: list(graphs), EVEN: even, SKEWED: skewed, DRAWN: drawn_alike,
}  # fmt: skip


def fit_one_of_calls(graphs: Sequence[GraphLayouts], seed: int = 0) -> LayoutModel:
    """Learn sums over calls once, from all graphs."""
    return MeanOfMembers([fit_call_trees(graphs, seed)], "sums over calls")


TREES, CALLS = "LightGBM, relative labels", "sums over calls"
FITS: Mapping[str, Fit] = {TREES: MODELS[TREES], CALLS: fit_one_of_calls}


class LayoutBalance(LayoutStudy):
    """Models × how layouts are spread over families."""

    name = "layout_balance"
    title = "Few families with most of the layouts"
    about = (
        "Each model learns from graphs of other families than it is judged on (five folds). "
        f"“{SKEWED}”: one family in {LARGE} keeps all its layouts, the others one layout in "
        f"{LARGE}; “{EVEN}”: as many layouts, the same share of each graph; “{DRAWN}”: the skewed "
        "layouts, repeated until all families have as many. “Ahead” is the difference of τ from "
        f"“{SKEWED}”, graph by graph, with a 95 % interval. “Sums over calls” weighs graphs alike "
        "by itself, and is one model here, not the mean of several. The last table is the report "
        "by family: τ of each with all layouts, the worst first."
    )

    def cells(self, data: LayoutStudyData, seeds: Sequence[int]) -> list[Settings]:
        return [
            {"model": model, "sampling": sampling, "seed": seed}
            for model in FITS
            for sampling in SAMPLINGS
            for seed in seeds
        ]

    def compute(self, data: LayoutStudyData, settings: Settings) -> Mapping[str, Json]:
        fit, sample = FITS[str(settings["model"])], SAMPLINGS[str(settings["sampling"])]

        def fit_sampled(graphs: Sequence[GraphLayouts], seed: int) -> LayoutModel:
            return fit(sample(graphs, seed), seed)

        return judge_folds(data.graphs, fit_sampled, int(str(settings["seed"])))

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups, rows = group(cells, "model", "sampling"), []
        for (model, sampling), mine in groups.items():
            other = groups.get((model, SKEWED), mine)
            ahead = "" if sampling == SKEWED else format_lead(lead(mine, other, TAUS))
            figures = [format_spread(mine, name) for name in (TAU, *SLOW.values())]
            rows.append([model, sampling, *figures, ahead])
        heads = ["model", "layouts", TAU, *SLOW.values(), "ahead"]
        return markdown_table(heads, rows) + "\n\n" + family_report(groups)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = []
        for (model, sampling), mine in group(cells, "model", "sampling").items():
            lines.append((f"{model}: {sampling}", [(0.0, *mean_and_spread(mine, TAU))]))
        lines.reverse()
        return StudyPicture(lines, "", "Kendall τ, unseen families", bars=True)


def family_report(groups: Mapping[tuple[str, ...], Sequence[StudyCell]]) -> str:
    """Return τ of each family, by model, where all layouts were learned from."""
    whole = {model: cells for (model, sampling), cells in groups.items() if sampling == ALL}
    if not whole:
        return ""
    first = next(iter(whole.values()))[0]
    names, sizes = first.result["graphs"], first.numbers("layouts")
    assert isinstance(names, list)
    families = [family_of(*str(name).split("/", 1)) for name in names]
    taus = {
        model: np.mean([cell.numbers(TAUS) for cell in cells], axis=0)
        for model, cells in whole.items()
    }
    rows = []
    for name in sorted(set(families)):
        members = [row for row, one in enumerate(families) if one == name]
        means = [fmean(own[members]) for own in taus.values()]
        rows.append((max(means), name, len(members), int(sizes[members].sum()), means))
    rows.sort()
    texts = [
        [name, str(n), f"{total:,}", *(f"{m:.3f}" for m in ms)] for _, name, n, total, ms in rows
    ]
    return markdown_table(["family", "graphs", "layouts", *taus], texts)
