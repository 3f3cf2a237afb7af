"""Intervals of an ensemble on the H200 set. Claim: 90 % hold 87 to 93 % on unseen tasks.

Members learn from tasks of the networks in training, are calibrated by folds of those networks, and
are asked about the tasks of held-out networks. The control is calibrated on what its members
learned from: it is too sure of itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.common import show, verdict
from graph_net.compilers.option import Json
from graph_net.learn.ensemble import Ensemble
from graph_net.learn.learning_set import LearningSet, LearningTask, tabular_set
from graph_net.learn.metrics import best_over_picked
from graph_net.programs.collection.kernel_tasks import HELD_OUT
from graph_net.programs.triton.features import NAMES
from graph_net.programs.triton.space import TritonSpace, workload_of
from graph_net.programs.view.overview import TaskSummary, summaries, tables

FAST: dict[str, Json] = {"rounds": 200, "rate": 0.1}
LEVELS = (0.5, 0.8, 0.9)
CLAIMED, LEAST, MOST = 0.9, 0.87, 0.93
PROGRAMS = "SELECT schedule, cost FROM programs WHERE task = ? AND NOT again ORDER BY schedule"


def read_side(folder: Path, test: bool) -> LearningSet:
    """The tasks that held-out networks call, or the others, with a choice of programs."""
    with tables(folder) as connection:
        every = summaries(connection)
        tasks = [task for task in every if bool(HELD_OUT & task.weights.keys()) == test]
        found = [connection.execute(PROGRAMS, [task.task]).fetchall() for task in tasks]
    chosen = [
        (task, rows)
        for task, rows in zip(tasks, found, strict=True)
        if sum(cost is not None for _, cost in rows) > 1
    ]
    return tabular_set(
        NAMES,
        np.concatenate([features(task, [row[0] for row in rows]) for task, rows in chosen]),
        [np.inf if cost is None else cost for _, rows in chosen for _, cost in rows],
        np.repeat(np.arange(len(chosen)), [len(rows) for _, rows in chosen]),
        [LearningTask(t.name, t.kernel, t.device, t.weights) for t, _ in chosen],
    )


def features(task: TaskSummary, schedules: list[str]) -> np.ndarray:
    space = TritonSpace(workload_of(json.loads(task.details)["module"]), task.target)
    return np.stack([space.encode(schedule) for schedule in schedules])


def held(model: Ensemble, unseen: LearningSet, level: float) -> float:
    """The part of programs whose label is within the interval, a mean over tasks."""
    low, high = model.predict_interval(unseen, level)
    labels, ran = unseen.programs.labels, np.isfinite(unseen.programs.costs)
    within = ((low <= labels) & (labels <= high))[ran]
    tasks = unseen.programs.tasks[ran]
    return float((np.bincount(tasks, within) / np.bincount(tasks)).mean())


def row(name: str, model: Ensemble, unseen: LearningSet) -> list[str]:
    """What one ensemble did: how often intervals hold, their width, what its mean picks."""
    low, high = model.predict_interval(unseen, CLAIMED)
    scores = model.predict(unseen)
    numbers = [held(model, unseen, level) for level in LEVELS] + [float((high - low).mean())]
    numbers += [float(best_over_picked(unseen.programs, scores, k).mean()) for k in (1, 5)]
    return [name, *(f"{number:.3f}" for number in numbers)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path("dataset/programs/h200"))
    options.add_argument("--members", type=int, default=5)
    options.add_argument("--seeds", type=int, default=3)
    given = options.parse_args()
    learned, unseen = (read_side(given.data, test) for test in (False, True))
    settings: dict[str, Json] = {"base_options": FAST, "members": given.members}
    rows, claimed = [], []
    for seed in range(given.seeds):
        model = Ensemble(settings, seed)
        model.fit(learned)
        claimed.append(held(model, unseen, CLAIMED))
        rows.append(row(f"seed {seed}", model, unseen))
    control = Ensemble(settings)
    control.fit(learned, held_out=learned)
    rows.append(row("control, seed 0", control, unseen))
    title = (
        f"{given.members} × LightGBM, {len(learned):,} programs; {len(unseen.tasks)} unseen tasks"
    )
    header = ("", *(f"{level:.0%} hold" for level in LEVELS), "width", "top-1", "top-5")
    show(title, header, rows)
    mean = float(np.mean(claimed))
    claim = f"intervals of {CLAIMED:.0%} hold {mean:.1%} on tasks of unseen networks"
    return 0 if verdict(LEAST <= mean <= MOST, claim) else 1


if __name__ == "__main__":
    sys.exit(main())
