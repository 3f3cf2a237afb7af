"""What do programs of another platform add? TenSet's Figure 6b."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from graph_net.learn.learning_set import LearnError
from graph_net.learn.measured_set import MeasuredSet
from graph_net.learn.metrics import Ints
from graph_net.learn.studies.data_size import choose_some
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

MODEL = "lightgbm"
TASKS = (0, 4, 16, 64)
"""Numbers of tasks of the tested platform to learn from."""
EVERY = 1 << 30
SCORES = ("best/picked at 1", "best/picked at 5", "pairwise accuracy")


class PlatformTransfer(Study[StudyData]):
    """Programs of other platforms, and some of the tested one."""

    name = "transfer"
    title = "What another platform's programs tell"
    about = (
        f"`{MODEL}` is judged on one platform's unseen tasks. It learns from some of that "
        "platform's tasks, alone or together with all tasks of the other platforms that are not "
        "tested on any (TenSet's Figure 6b). “Ahead” is with the others' programs against "
        "without, task by task."
    )

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        sizes = Counter(task.platform for task in data.train.data.tasks)
        if len(sizes) < 2:
            raise LearnError("this study needs programs of two platforms with the same features")
        return [
            {"platform": name, "own": own, "others": others, "seed": seed}
            for name, size in sorted(sizes.items())
            for own in (*(count for count in TASKS if count < size), EVERY)
            for others in (False, True)
            for seed in seeds
            if own or others
        ]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        name, seed = str(settings["platform"]), int(str(settings["seed"]))
        own, others = int(str(settings["own"])), bool(settings["others"])
        train = np.concatenate(list(_learned_from(data.train, name, own, others, seed)))
        tested = data.test.take(on_platform(data.test, name))
        return train_and_judge(MODEL, seed, data.train.take(np.sort(train)), tested)[1]

    def table(self, cells: Sequence[StudyCell]) -> str:
        groups = group(cells, "platform", "own", "others")
        rows = []
        for (name, own, others), mine in groups.items():
            alone = groups.get((name, own, "False"), [])
            ahead = format_lead(lead(mine, alone, REACHED)) if others == "True" and alone else ""
            count = "all" if int(own) == EVERY else own
            also = "all" if others == "True" else "none"
            rows.append([name, count, also, *(format_spread(mine, s) for s in SCORES), ahead])
        heads = ["tested on", "tasks of its own", "of others", *SCORES, "ahead"]
        return markdown_table(heads, rows)

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        lines = []
        for (name, others), mine in group(cells, "platform", "others").items():
            points = [
                (max(0.5, min(float(own), 256.0)), *mean_and_spread(same, SCORES[0]))
                for (own,), same in group(mine, "own").items()
            ]
            lines.append((f"{name}{', with others' if others == 'True' else ''}", points))
        return StudyPicture(
            lines, "tasks of its own learned from (at the right: all)", "mean of best / picked"
        )


def on_platform(measured: MeasuredSet, name: str, other: bool = False) -> Ints:
    """Return the programs of a platform, or with ``other`` those of all others."""
    mine = np.array([task.platform == name for task in measured.data.tasks])
    return np.flatnonzero((mine != other)[measured.data.programs.tasks])


def _learned_from(
    train: MeasuredSet, name: str, own: int, others: bool, seed: int
) -> Iterator[Ints]:
    rows = on_platform(train, name)
    if own:
        yield rows[choose_some(train.data.take(rows).programs, own, EVERY, seed)]
    if others:
        yield on_platform(train, name, other=True)
