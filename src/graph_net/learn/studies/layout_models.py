"""Which model ranks layouts: losses, ways to join configurations, pruned graphs, blocks?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from graph_net.learn.studies.study import (
    Settings,
    Study,
    StudyCell,
    StudyData,
    StudyPicture,
    format_spread,
    group,
    markdown_table,
    mean_and_spread,
)
from graph_net.learn.studies.trained import train_and_judge
from graph_net.results import Json

TAU, SECONDS = "Kendall τ", "seconds"
TREES = "lightgbm[targets=ranks]"
PER_GRAPH = ("additive", "layout_levels")
NETWORKS = (
    "graph_mlp",
    "gcn",
    *(f"graphsage[loss={loss}]" for loss in ("listmle", "hinge", "mse")),
    "graphsage[join=late]",
    "graphsage[join=early,hops=1,epochs=40]",
    "graphsage[attention=true]",
    "graphsage[hops=0]",
    "graphsage[blocks=false]",
)
SHOWN = {TAU: "τ", "slowdown@1": "slowdown@1", "slowdown@10": "@10", SECONDS: "seconds"}


class LayoutModels(Study[StudyData]):
    """Models × losses × joins, on layouts."""

    name = "layouts"
    title = "Which model ranks layouts"
    about = (
        "Every model learns from the same configurations and is judged on the same ones it has "
        "not seen. Networks encode the graph once unless it says `join=early`; `blocks=false` "
        "encodes repeated layers one by one, `hops=0` the whole graph. Seconds are of learning "
        "and judging on one thread of a machine that does other things too."
    )

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        known = {task.name for task in data.train.data.tasks}
        seen = known.issuperset(task.name for task in data.test.data.tasks)
        models = (*(PER_GRAPH if seen else ()), TREES, *NETWORKS)
        return [{"model": model, "seed": seed} for model in models for seed in seeds]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        model, seed = str(settings["model"]), int(str(settings["seed"]))
        start = time.process_time()
        found = train_and_judge(model, seed, data.train, data.test)[1]
        return {**found, SECONDS: time.process_time() - start}

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups = group(cells, "model")
        ordered = sorted(groups.items(), key=lambda one: -mean_and_spread(one[1], TAU)[0])
        rows = [
            [f"`{model}`", *(format_spread(mine, metric) for metric in SHOWN)]
            for (model,), mine in ordered
        ]
        ceilings = cells[0].result.get("ceiling") if cells else None
        ceiling = ceilings.get(TAU) if isinstance(ceilings, dict) else None
        if isinstance(ceiling, float):
            rows.append(["ceiling", f"{ceiling:.3f}", "", "", ""])
        return markdown_table(["model", *SHOWN.values()], rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = []
        for (model,), mine in group(cells, "model").items():
            mean, spread = mean_and_spread(mine, TAU)
            lines.append((model, [(0.0, mean, spread)]))
        lines.sort(key=lambda line: line[1][0][1])
        return StudyPicture(lines, "", "Kendall τ, configurations not seen", bars=True)
