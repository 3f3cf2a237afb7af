"""Which metric predicts how well a model searches? TenSet's Table 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graph_net.learn.learning_set import LearnError
from graph_net.learn.metrics import Floats
from graph_net.learn.studies.study import (
    Settings,
    Study,
    StudyCell,
    StudyData,
    StudyPicture,
    group,
    markdown_table,
)
from graph_net.learn.studies.trained import measured_until_near, train_and_judge
from graph_net.results import Json

WITHIN = 0.02
MODELS = (
    *(f"lightgbm[rounds={rounds}]" for rounds in (5, 20, 80, 320)),
    *(f"lightgbm[objective=lambdarank,rounds={rounds}]" for rounds in (5, 20, 80, 320)),
    *(f"lightgbm[rounds=200,columns_of_tree={part}]" for part in (0.1, 0.3)),
    "mlp[loss=mse,epochs=3]",
    "mlp[loss=lambdarank,epochs=3]",
    "analytical",
)
METRICS = (
    "RMSE",
    "R²",
    "MAPE",
    "pairwise accuracy",
    "top-1, mean of networks",
    "top-1, pooled",
    "top-5, mean of networks",
    "top-5, pooled",
    "best/picked at 1",
    "best/picked at 5",
)
LOWER = ("RMSE", "MAPE")
SEARCH = "measurements"


class MetricChoice(Study[StudyData]):
    """Metrics against the number of trials of a search."""

    name = "metrics"
    title = "Which metric predicts what a search takes"
    about = (
        "Models of many qualities are judged on unseen tasks by every metric, and then search "
        "spaces of which every program was measured: programs are measured in the model's order "
        f"until one is within {WITHIN:.0%} of the best (TenSet's Table 3). The table has the rank "
        "correlation of each metric with that number of measurements, signed so that 1 is a "
        "metric that tells exactly which model searches faster, with a 95 % interval over models."
    )

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        if data.spaces is None:
            raise LearnError("this study needs tasks of which every program was measured: --spaces")
        return [{"model": model, "seed": seed} for model in MODELS for seed in seeds]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        assert data.spaces is not None
        text, seed = str(settings["model"]), int(str(settings["seed"]))
        model, result = train_and_judge(text, seed, data.train, data.test)
        spaces = data.spaces.data
        counts = measured_until_near(spaces.programs, model.predict(spaces), WITHIN)
        result[SEARCH] = float(np.exp(np.mean(np.log(counts))))
        return result

    def table(self, cells: Sequence[StudyCell]) -> str:
        search = -np.log([cell.number(SEARCH) for cell in cells])
        rows = []
        for metric in METRICS:
            values = np.array([cell.number(metric) for cell in cells])
            there = np.isfinite(values)
            if not there.any():
                continue
            sign = -1 if metric in LOWER else 1
            value, low, high = correlation(sign * values[there], search[there])
            rows.append((value, [metric, f"{value:.2f}", f"{low:.2f} … {high:.2f}"]))
        rows.sort(key=lambda row: -row[0])
        return markdown_table(["metric", "rank correlation", "95 %"], [row for _, row in rows])

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = [
            (model, sorted((c.number("best/picked at 1"), c.number(SEARCH), 0.0) for c in seeds))
            for (model,), seeds in group(cells, "model").items()
        ]
        return StudyPicture(
            lines, "best / picked at 1", "measurements to within 2 % of the best", log=False
        )


def correlation(one: Floats, other: Floats, draws: int = 2000) -> tuple[float, float, float]:
    """Return Spearman's rank correlation, and its 95 % interval over the choice of models."""
    generator = np.random.default_rng(0)
    samples = generator.integers(one.size, size=(draws, one.size))
    drawn = [_spearman(one[rows], other[rows]) for rows in samples]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return _spearman(one, other), float(low), float(high)


def _spearman(one: Floats, other: Floats) -> float:
    first, second = _ranks(one), _ranks(other)
    if min(first.std(), second.std()) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value; equal values share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse], np.float64)
