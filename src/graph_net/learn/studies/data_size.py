"""More tasks, or more programs of each? TenSet's Figure 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graph_net.learn.metrics import Ints, TaskCosts
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

MODEL = "lightgbm"
PARTS = (0.125, 0.25, 0.5, 1.0)
PROGRAMS = (8, 16, 32, 64, 128)
SCORES = ("best/picked at 1", "best/picked at 5", "pairwise accuracy")


class DataSize(Study[StudyData]):
    """Tasks × programs of a task."""

    name = "size"
    title = "More tasks, or more programs of each"
    about = (
        f"`{MODEL}` learns from a random part of the tasks and of each task's programs, and is "
        "judged on all unseen tasks (TenSet's Figure 5)."
    )

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        tasks = len(data.train.data.tasks)
        most = int(data.train.data.programs.sizes.max())
        counts = [max(1, round(part * tasks)) for part in PARTS]
        programs = [count for count in PROGRAMS if count < most] + [min(most, PROGRAMS[-1])]
        return [
            {"tasks": count, "programs": each, "seed": seed}
            for count in dict.fromkeys(counts)
            for each in dict.fromkeys(programs)
            for seed in seeds
        ]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        tasks, each, seed = (int(str(settings[key])) for key in ("tasks", "programs", "seed"))
        part = data.train.take(choose_some(data.train.data.programs, tasks, each, seed))
        return {**train_and_judge(MODEL, seed, part, data.test)[1], "learned from": len(part.data)}

    def table(self, cells: Sequence[StudyCell]) -> str:
        rows = [
            [tasks, each, f"{mean_and_spread(mine, 'learned from')[0]:,.0f}"]
            + [format_spread(mine, score) for score in SCORES]
            for (tasks, each), mine in group(cells, "tasks", "programs").items()
        ]
        return markdown_table(["tasks", "programs of each, at most", "programs", *SCORES], rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = []
        for (tasks,), mine in group(cells, "tasks").items():
            points = []
            for same in group(mine, "programs").values():
                x = mean_and_spread(same, "learned from")[0]
                points.append((x, *mean_and_spread(same, SCORES[0])))
            lines.append((f"{tasks} tasks", points))
        return StudyPicture(lines, "programs learned from", "mean of best / picked, unseen tasks")


def choose_some(programs: TaskCosts, tasks: int, each: int, seed: int) -> Ints:
    """Return some programs of some tasks, drawn at random; at least one of each task ran."""
    generator = np.random.default_rng(seed)
    groups, costs = list(programs.rows()), programs.costs
    chosen = []
    for index in generator.permutation(len(groups))[:tasks]:
        rows = generator.permutation(groups[index])
        first = int(np.argmax(np.isfinite(costs[rows])))
        rows[[0, first]] = rows[[first, 0]]
        chosen.append(rows[:each])
    return np.sort(np.concatenate(chosen))
