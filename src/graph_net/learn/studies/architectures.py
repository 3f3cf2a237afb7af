"""Which model, with which loss? TenSet's Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graph_net.learn.analytical import has_roofline
from graph_net.learn.studies.study import (
    Settings,
    Study,
    StudyCell,
    StudyData,
    StudyPicture,
    format_lead,
    format_spread,
    group,
    lead,
    markdown_table,
    mean_and_spread,
)
from graph_net.learn.studies.trained import REACHED, train_and_judge
from graph_net.results import Json

BASELINE = "lightgbm[objective=regression]"
OF_SEQUENCES, OF_ROOFLINES = ("lstm", "attention"), ("analytical", "residual")
NETWORKS = ("mlp", *OF_SEQUENCES)
LOSSES = ("mse", "pairwise", "lambdarank", "listmle")
MODELS = (
    BASELINE,
    "lightgbm[objective=cross_entropy]",
    "lightgbm[objective=lambdarank]",
    "blend",
    "xgboost[objective=regression]",
    "xgboost[objective=lambdarank]",
    *(f"{network}[epochs=20,loss={loss}]" for network in NETWORKS for loss in LOSSES),
    "mixture",
    "analytical",
    "residual[base=lightgbm]",
    "ensemble[base=lightgbm]",
)
SHOWN = {
    "best/picked at 1": "best/picked at 1",
    "best/picked at 5": "at 5",
    "top-1, mean of networks": "top-1, networks",
    "top-1, pooled": "pooled",
    "top-5, mean of networks": "top-5, networks",
    "top-5, pooled": "pooled",
    "pairwise accuracy": "pairwise",
}


class Architectures(Study[StudyData]):
    """Models × losses."""

    name = "architectures"
    title = "Which model, with which loss"
    about = (
        "Every model learns from the same tasks and is judged on the same tasks it has not seen "
        f"(TenSet's Table 4). The last column is how far its picks are ahead of `{BASELINE}`'s, "
        "task by task, with a 95 % interval over tasks; bold where that excludes zero."
    )
    models: Sequence[str] = MODELS

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        """Return the models × seeds: of sequences, of rooflines only where the features fit."""
        learned = data.train.data
        unfit: tuple[str, ...] = OF_SEQUENCES if learned.is_tabular else ()
        unfit += () if has_roofline(learned.columns) else OF_ROOFLINES
        models = [model for model in self.models if not model.startswith(unfit)]
        return [{"model": model, "seed": seed} for model in models for seed in seeds]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        model, seed = str(settings["model"]), int(str(settings["seed"]))
        return train_and_judge(model, seed, data.train, data.test)[1]

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups = group(cells, "model")
        base = groups[(BASELINE,)]
        ordered = sorted(groups.items(), key=lambda one: -mean_and_spread(one[1], REACHED_MEAN)[0])
        rows = [
            [
                f"`{model}`",
                *(format_spread(mine, metric) for metric in SHOWN),
                "" if mine is base else format_lead(lead(mine, base, REACHED)),
            ]
            for (model,), mine in ordered
        ]
        rows += [_reference(base[0], what) for what in ("random", "ceiling")]
        return markdown_table(["model", *SHOWN.values(), "ahead"], rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = []
        for (model,), mine in group(cells, "model").items():
            mean, spread = mean_and_spread(mine, REACHED_MEAN)
            lines.append((model, [(0.0, mean, spread)]))
        lines.sort(key=lambda line: line[1][0][1])
        return StudyPicture(lines, "", "mean of best / picked, unseen tasks", bars=True)


REACHED_MEAN = "best/picked at 1"


def _reference(cell: StudyCell, what: str) -> list[str]:
    """Return the row of the random ranking, or of measuring everything a second time."""
    values = cell.result[what]
    assert isinstance(values, dict)
    shown = [f"{value:.3f}" if isinstance(value := values.get(m), float) else "" for m in SHOWN]
    return [what, *shown, ""]
