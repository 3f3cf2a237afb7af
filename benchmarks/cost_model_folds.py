"""Models on every task of a data set, each learned from other networks' tasks; by operator.

The published split tests few tasks of an operator. Here networks are dealt into folds, and every
task is ranked by what was learned from the other folds, once for each seed, which deals anew.
Values are best / picked, means over tasks and seeds, with the least and the greatest seed; a lead
is over the first model, paired by task, with its 95 % interval over tasks. Claim: on all tasks and
on each operator that is named, the last model leads the first, and reaches what is asked for.

    python -m benchmarks.cost_model_folds dataset/programs/h200 --operators conv2d=0.96

What a fold gave is kept in the folder; a second call takes it from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ansor_searches import in_processes
from benchmarks.common import show, verdict
from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import best_over_picked, random_best_over_picked
from graph_net.learn.model_registry import model_from_text
from graph_net.learn.paired import ALL, compare_models
from graph_net.learn.read_set import read_set
from graph_net.learn.task_folds import task_folds

FOLDS, KS = 5, (1, 5)
MODELS = ("lightgbm[threads=1]", "mixture[threads=1]")
Values = NDArray[np.float64]


def judge_fold(data: LearningSet, text: str, seed: int, number: int, path: Path) -> None:
    """Keep best / picked at each of KS, of each task of a fold."""
    if path.is_file():
        return
    folds = task_folds(data, FOLDS, np.random.default_rng(seed))
    rest = [task for place, fold in enumerate(folds) if place != number for task in fold]
    graphs = {data.tasks[task].graph for task in rest}
    assert not any(data.tasks[task].graph in graphs for task in folds[number])
    model = model_from_text(text, seed)
    model.fit(data.select(sorted(rest)))
    tested = data.select(folds[number])
    scores = model.predict(tested)
    found = {str(k): best_over_picked(tested.programs, scores, k).tolist() for k in KS}
    path.write_text(json.dumps({"tasks": folds[number], **found}), "utf-8")


def read_values(folder: Path, model: int, seeds: Sequence[int], count: int) -> Values:
    """Return best / picked by seed, k and task."""
    values = np.full((len(seeds), len(KS), count), np.nan)
    for place, seed in enumerate(seeds):
        for number in range(FOLDS):
            kept = json.loads(_path(folder, model, seed, number).read_text("utf-8"))
            for row, k in enumerate(KS):
                values[place, row, kept["tasks"]] = kept[str(k)]
    assert np.isfinite(values).all()
    return values


def _path(folder: Path, model: int, seed: int, number: int) -> Path:
    return folder / f"model{model}-seed{seed}-fold{number}.json"


def lines_of(
    models: Sequence[str], values: Sequence[Values], chance: Values, mine: NDArray[np.bool_]
) -> list[list[str]]:
    """Return a line for each model on some of the tasks."""
    lines = [["random", *(f"{row[mine].mean():.3f}" for row in chance), ""]]
    for text, found in zip(models, values, strict=True):
        by_seed = found[:, :, mine].mean(axis=2)
        cells = [f"{row.mean():.3f} ({row.min():.3f}–{row.max():.3f})" for row in by_seed.T]
        first = [one[:, 0, mine].mean(axis=0) for one in (found, values[0])]
        lead = compare_models(*first)[0]
        told = f"{lead.value:+.3f} [{lead.low:+.3f}, {lead.high:+.3f}]"
        lines.append([text, *cells, "" if found is values[0] else told])
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/folds"))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--operators", nargs="*", default=[], help="OPERATOR=LEAST, …")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    data = read_set(chosen.data).data
    todo = [
        partial(judge_fold, data, text, seed, number, _path(chosen.output, model, seed, number))
        for seed in chosen.seeds
        for number in range(FOLDS)
        for model, text in enumerate(chosen.models)
    ]
    in_processes(todo, chosen.jobs)
    values = [
        read_values(chosen.output, model, chosen.seeds, len(data.tasks))
        for model in range(len(chosen.models))
    ]
    chance = np.array([random_best_over_picked(data.programs, k) for k in KS])
    kinds = np.array([task.kind for task in data.tasks])
    least = {name: float(text) for name, _, text in (o.partition("=") for o in chosen.operators)}
    holds = True
    for kind in (ALL, *sorted(set(kinds))):
        mine = np.ones(len(kinds), bool) if kind == ALL else kinds == kind
        lines = lines_of(chosen.models, values, chance, mine)
        show(f"{kind}: {mine.sum()} tasks", ("", "at 1", "at 5", "lead at 1"), lines)
        if kind == ALL or kind in least:
            last = values[-1][:, 0, mine].mean(axis=0)
            lead = compare_models(last, values[0][:, 0, mine].mean(axis=0))[0]
            asked = least.get(kind, 0.0)
            text = f"{kind}: {last.mean():.3f} ≥ {asked}, interval above zero"
            holds &= verdict(last.mean() >= asked and lead.is_better, text)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
