"""Models on every task of a data set, each learned from other networks' tasks; by operator.

The published split tests few tasks of an operator. Here networks are dealt into folds, anew with
each seed. As in that split, a fold tests the tasks that one of its networks calls, whoever else
calls them, and learns from the others; a task of several networks is tested in each of their folds,
and has the mean. Values are best / picked, means over tasks and seeds, with the least and the
greatest seed; a lead is over the first model, paired by task, with its 95 % interval over tasks.
Claim: on all tasks and on each operator that is named, the last model leads the first, and reaches
what is asked for.

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
from graph_net.results import digest
from graph_net.store.atomic import write_text

FOLDS, KS = 5, (1, 5)
MODELS = ("lightgbm[threads=1]", "mixture[threads=1]")
Values = NDArray[np.float64]


def tested_tasks(data: LearningSet, seed: int, number: int) -> list[int]:
    """Return the tasks that a network of a fold calls."""
    called = [{name.partition("@")[0] for name in task.weights} for task in data.tasks]
    names = np.random.default_rng(seed).permutation(sorted(set().union(*called)))
    held = set(names[number::FOLDS])
    return [task for task, own in enumerate(called) if own & held]


def judge_fold(data: LearningSet, text: str, seed: int, number: int, path: Path) -> None:
    """Keep best / picked at each of KS, of each task that a fold tests."""
    if path.is_file():
        return
    tested = tested_tasks(data, seed, number)
    rest = sorted(set(range(len(data.tasks))) - set(tested))
    model = model_from_text(text, seed)
    model.fit(data.select(rest))
    asked = data.select(tested)
    scores = model.predict(asked)
    found = {str(k): best_over_picked(asked.programs, scores, k).tolist() for k in KS}
    write_text(path, json.dumps({"tasks": tested, **found}))


def read_values(paths: Sequence[Sequence[Path]], count: int) -> Values:
    """Return best / picked by seed, k and task, the mean over the folds that test it."""
    values, times = np.zeros((len(paths), len(KS), count)), np.zeros((len(paths), 1, count))
    for place, folds in enumerate(paths):
        for path in folds:
            kept = json.loads(path.read_text("utf-8"))
            times[place, :, kept["tasks"]] += 1
            for row, k in enumerate(KS):
                values[place, row, kept["tasks"]] += kept[str(k)]
    assert times.all()
    return np.asarray(values / times, np.float64)


def name_of(data: LearningSet, text: str, seed: int, number: int) -> str:
    """Return the name of the file with a fold's values, which changes with the programs."""
    programs = digest(
        "folds", *(task.graph for task in data.tasks), data.programs.costs.tobytes().hex()
    )
    model = model_from_text(text, seed).name
    return f"{model}-{digest('fold', programs, text, str(FOLDS))[:12]}-seed{seed}-fold{number}.json"


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
    paths = {
        (text, seed, number): chosen.output / name_of(data, text, seed, number)
        for seed in chosen.seeds
        for number in range(FOLDS)
        for text in chosen.models
    }
    in_processes(
        [partial(judge_fold, data, *key, path) for key, path in paths.items()], chosen.jobs
    )
    values = [
        read_values(
            [[paths[text, seed, number] for number in range(FOLDS)] for seed in chosen.seeds],
            len(data.tasks),
        )
        for text in chosen.models
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
