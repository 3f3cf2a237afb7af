"""How fast a model improves in a new task, and what a local model adds: TenSet's Table 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from graph_net.learn.adapting import (
    Adapts,
    NearestNeighbour,
    RandomOrder,
    ResidualProcess,
    ResidualTrees,
    TaskTrees,
    ZeroShot,
)
from graph_net.learn.cost_model import CostModel
from graph_net.learn.few_shot import COUNTS, Strategy, few_shot_curve, tasks_with_more
from graph_net.learn.in_context import InContext
from graph_net.learn.metrics import pairwise_accuracy
from graph_net.learn.model_registry import model_from_text
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
from graph_net.results import Json

MODEL = "lightgbm"
BASELINE = "pre-trained"
WAYS: dict[str, Callable[[CostModel, int], Adapts]] = {
    "random order": lambda model, seed: RandomOrder(seed),
    "nearest neighbour": lambda model, seed: NearestNeighbour(seed),
    "trees from scratch": lambda model, seed: TaskTrees(seed),
    BASELINE: lambda model, seed: ZeroShot(model),
    "pre-trained + local trees": lambda model, seed: ResidualTrees(ZeroShot(model)),
    "pre-trained + local process": lambda model, seed: ResidualProcess(ZeroShot(model)),
}
IN_CONTEXT = "in context"
TRIALS, LOCAL = 50, 40
"""TenSet's numbers: a local model learns from the first 40 of a task's 50 trials."""


def adapting_model(way: str, data: StudyData, seed: int) -> Adapts:
    """Return a model trained on other tasks that uses measurements in the given ``way``."""
    if way == IN_CONTEXT:
        ranker = InContext(seed=seed)
        ranker.fit(data.train.data)
        return ranker
    model = model_from_text(MODEL, seed)
    if way.startswith(BASELINE):
        model.fit(data.train.data)
    return WAYS[way](model, seed)


class FewShotCurves(Study[StudyData]):
    """Quality by number of programs measured in the new task."""

    name = "few_shot"
    title = "How many programs of a new task must be measured"
    about = (
        "Some programs of an unseen task are measured first: the same random ones for every model, "
        "or (greedy) those that it ranks first itself. *Reached* is the best of the task over the "
        "best of what was measured and of the one program that the model would measure next; "
        f"“ahead” is against `{MODEL}` {BASELINE} alone, task by task."
    )

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        return [
            {"way": way, "strategy": str(strategy), "seed": seed}
            for strategy in Strategy
            for way in (*WAYS, IN_CONTEXT)
            for seed in seeds
        ]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        seed, strategy = int(str(settings["seed"])), Strategy(str(settings["strategy"]))
        model = adapting_model(str(settings["way"]), data, seed)
        tasks = tasks_with_more(data.test.data, COUNTS[-1])
        points = few_shot_curve(model, tasks, COUNTS, strategy, (seed,))
        result: dict[str, Json] = {}
        for point in points:
            result[f"reached {point.measured}"] = point.reached.tolist()
            result[f"mean {point.measured}"] = float(point.reached.mean())
        return result

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups = group(cells, "strategy", "way")
        rows = []
        for (strategy, way), mine in groups.items():
            base = groups[(strategy, BASELINE)]
            ahead = lead(mine, base, "reached 16") if mine is not base else None
            numbers = [format_spread(mine, f"mean {count}") for count in COUNTS]
            rows.append([strategy, way, *numbers, format_lead(ahead) if ahead else ""])
        heads = ["measured", "model", *map(str, COUNTS), "ahead at 16"]
        return markdown_table(heads, rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = []
        for (way,), mine in group(_of(cells, Strategy.GREEDY), "way").items():
            points = [(float(c) or 0.5, *mean_and_spread(mine, f"mean {c}")) for c in COUNTS]
            lines.append((way, points))
        return StudyPicture(lines, "programs measured in the new task", "best / reached, greedy")


class LocalResidual(Study[StudyData]):
    """What the first trials of a task add to a model trained on other tasks."""

    name = "residual"
    title = "A local model on top of a pre-trained one"
    about = (
        f"Of {TRIALS} random programs of an unseen task {LOCAL} are measured; the other "
        f"{TRIALS - LOCAL} are ranked (TenSet's Table 5). A local model is fitted to what the "
        "pre-trained one misses there. “Ahead” is against the pre-trained model, task by task."
    )
    ways = ("trees from scratch", BASELINE, "pre-trained + local trees",
            "pre-trained + local process", IN_CONTEXT)  # fmt: skip

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        return [{"way": way, "seed": seed} for way in self.ways for seed in seeds]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        seed = int(str(settings["seed"]))
        model = adapting_model(str(settings["way"]), data, seed)
        tasks = tasks_with_more(data.test.data, TRIALS - 1)
        generator = np.random.default_rng(seed)
        trials = [generator.permutation(rows)[:TRIALS] for rows in tasks.programs.rows()]
        shown = tasks.take(np.concatenate(trials))
        first = (np.arange(len(shown)) % TRIALS) < LOCAL
        scores = model.predict_given(shown, np.flatnonzero(first))
        rest = shown.take(np.flatnonzero(~first)).programs
        ranked = scores[~first]
        best = rest.least / rest.least_of_first(ranked, 1)
        return {
            "reached": best.tolist(),
            "mean": float(best.mean()),
            "pairwise accuracy": pairwise_accuracy(rest, ranked),
        }

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups = group(cells, "way")
        base = groups[(BASELINE,)]
        rows = [
            [way, format_spread(mine, "mean"), format_spread(mine, "pairwise accuracy"),
             "" if mine is base else format_lead(lead(mine, base, "reached"))]
            for (way,), mine in groups.items()
        ]  # fmt: skip
        heads = ["model", f"best/picked of the last {TRIALS - LOCAL}", "pairwise", "ahead"]
        return markdown_table(heads, rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = [
            (way, [(0.0, *mean_and_spread(mine, "mean"))])
            for (way,), mine in group(cells, "way").items()
        ]
        return StudyPicture(lines, "", "mean of best / picked of the last ten", bars=True)


def _of(cells: Sequence[StudyCell], strategy: Strategy) -> list[StudyCell]:
    return [cell for cell in cells if cell.setting("strategy") == strategy]
