"""Ansor's programs on a GPU: which is fastest, asked of models that never saw the task.

Tasks are convolution, depthwise convolution and matrix products, on K80 and V100. They are split so
that no computation is on both sides, whatever its padding is called and wherever it was measured.
Tests: tasks of each GPU, learned from other tasks of both; tasks of a GPU that no program was
learned from, in both directions. Asked about are the whole trajectory of each search, as the files
have it, and the first 128 programs alone, before the search had converged.

Compared are a random pick, LightGBM on the steps as TLP writes them (regression of the log label),
the same trees as ours on the steps, our features (``spaces.ansor_gpu``), and these joined with the
candidates' differences (``features.ansor_candidates``). Values are best / picked, means over tasks
and seeds, with the least and the greatest seed; intervals are of the difference from LightGBM on
steps, by paired bootstrap over tasks.

    python -m benchmarks.cost_models_ansor --data shared/data/ansor -o build/ansor

What a seed gave is kept in the folder; a second call takes it from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ansor_searches import Floats, Searched, Values, in_processes, read_tasks
from benchmarks.common import console, show, verdict
from graph_net.learn.metrics import (
    TaskCosts,
    best_over_picked,
    effective_tasks,
    random_best_over_picked,
)
from graph_net.learn.paired import PairedDifference, compare_models
from graph_net.programs.features.ansor_candidates import beside_median

FOLDS, MEMBERS, LEARNED, EARLY = 5, 2, 200, 128
"""Parts of the tasks, trees that are averaged, programs of a task to learn from, candidates."""
LEAST_LABEL = 1e-3
TESTS = {
    "K80, unseen tasks": (("k80", "v100"), "k80"),
    "V100, unseen tasks": (("k80", "v100"), "v100"),
    "K80 from V100": (("v100",), "k80"),
    "V100 from K80": (("k80",), "v100"),
}
POOLS = ("trajectory", f"first {EARLY}")
MODELS = ("steps", "steps, our trees", "ours", "ours, joined")
Scores = dict[str, dict[str, dict[str, list[float]]]]
"""Of a test and a pool: best / picked of each task, by model."""


def train(rows: Floats, labels: Values, objective: str, seed: int) -> Callable[[Floats], Values]:
    """Return what predicts from trees: cross entropy asks for the expected label of a pick."""
    import lightgbm

    settings = {
        "objective": objective, "learning_rate": 0.08, "num_leaves": 31, "min_data_in_leaf": 10,
        "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.5, "max_bin": 63,
        "seed": seed, "num_threads": 1, "force_row_wise": True, "verbose": -1,
    }  # fmt: skip
    booster = lightgbm.train(settings, lightgbm.Dataset(rows, labels), 150)
    return lambda asked: np.asarray(booster.predict(asked, num_threads=1))


def fit(tasks: Sequence[Searched], seed: int) -> dict[str, Callable[[Searched], Values]]:
    """Return the models, each learned from the same tasks."""
    members: dict[str, list[Callable[[Floats], Values]]] = {name: [] for name in MODELS}
    for member in range(MEMBERS):
        random = np.random.default_rng((seed, member))
        drawn = [random.permutation(len(task.costs))[:LEARNED] for task in tasks]
        labels = np.concatenate([t.labels[d] for t, d in zip(tasks, drawn, strict=True)])
        steps = np.vstack([t.steps[d] for t, d in zip(tasks, drawn, strict=True)])
        if not member:
            logs = np.log(np.maximum(labels, LEAST_LABEL))
            members["steps"].append(train(steps, logs, "regression", seed))
            members["steps, our trees"].append(train(steps, labels, "cross_entropy", seed))
        ours = np.vstack([t.ours[d] for t, d in zip(tasks, drawn, strict=True)])
        members["ours"].append(train(ours, labels, "cross_entropy", seed + 97 * member))
        beside, values = _beside(tasks, drawn)
        members["ours, joined"].append(train(beside, values, "cross_entropy", seed + 97 * member))
    mean = _mean(members)
    return {
        "steps": lambda task: mean("steps", task.steps),
        "steps, our trees": lambda task: mean("steps, our trees", task.steps),
        "ours": lambda task: mean("ours", task.ours),
        "ours, joined": lambda task: (
            mean("ours", task.ours) + mean("ours, joined", beside_median(task.ours))
        ),
    }


def _mean(
    members: dict[str, list[Callable[[Floats], Values]]],
) -> Callable[[str, Floats], Values]:
    def mean(name: str, rows: Floats) -> Values:
        return np.asarray(np.mean([predict(rows) for predict in members[name]], axis=0))

    return mean


def _beside(tasks: Sequence[Searched], drawn: Sequence[NDArray[np.int64]]) -> tuple[Floats, Values]:
    """Return programs beside all candidates of their task, and the early ones beside those."""
    rows, labels = [], []
    for task, every in zip(tasks, drawn, strict=True):
        some = every[:EARLY]
        rows += [beside_median(task.ours)[some], beside_median(task.ours[:EARLY])]
        labels += [task.labels[some], task.labels[:EARLY]]
    return np.vstack(rows), np.concatenate(labels)


def pool_of(task: Searched, pool: str) -> Searched:
    """Return a task with the candidates of a pool."""
    if pool == POOLS[0]:
        return task
    few = slice(0, EARLY)
    return replace(task, costs=task.costs[few], ours=task.ours[few], steps=task.steps[few])


def run_part(tasks: Sequence[Searched], path: Path, seed: int, learned: tuple[str, ...]) -> None:
    """Keep best / picked of each task in the tests of models that learned from these GPUs."""
    if path.is_file():
        return
    count = max(task.computation for task in tasks) + 1
    fold = np.random.default_rng(seed).permutation(count) % FOLDS
    tests = [test for test, (source, _) in TESTS.items() if source == learned]
    scores: Scores = {test: {pool: {} for pool in POOLS} for test in tests}
    for part in range(FOLDS):
        models = fit(
            [t for t in tasks if t.platform in learned and fold[t.computation] != part], seed
        )
        for test in tests:
            _score(scores[test], models, tasks, TESTS[test][1], fold == part)
    path.write_text(json.dumps(scores), "utf-8")


def _score(
    scores: dict[str, dict[str, list[float]]],
    models: dict[str, Callable[[Searched], Values]],
    tasks: Sequence[Searched],
    platform: str,
    asked: NDArray[np.bool_],
) -> None:
    for number, whole in enumerate(tasks):
        if whole.platform != platform or not asked[whole.computation]:
            continue
        for pool in POOLS:
            task, found = pool_of(whole, pool), scores[pool]
            if not np.isfinite(task.costs).any():
                continue
            costs = TaskCosts.of(task.costs, np.zeros(len(task.costs), int))
            found.setdefault("task", []).append(number)
            given = {name: model(task) for name, model in models.items()}
            for k in (1, 5):
                chance = float(random_best_over_picked(costs, k)[0])
                found.setdefault(f"random {k}", []).append(chance)
                for name, values in given.items():
                    picked = float(best_over_picked(costs, values, k)[0])
                    found.setdefault(f"{name} {k}", []).append(picked)


def rows_of(
    tasks: Sequence[Searched], seeds: Sequence[Scores], test: str, pool: str
) -> tuple[list[list[str]], dict[str, PairedDifference], dict[str, float]]:
    """Return the lines of a test; of each model, its difference from the steps, and its mean."""
    ordered = [_by_task(scores[test][pool]) for scores in seeds]
    mean = {name: np.mean([one[name] for one in ordered], axis=0) for name in ordered[0]}
    chance = [f"{mean[f'random {k}'].mean():.3f}" for k in (1, 5)]
    lines = [[_title(tasks, test, mean["task"]), "random", *chance, ""]]
    paired = {}
    for name in MODELS:
        (paired[name], *_) = compare_models(mean[f"{name} 1"], mean[f"{MODELS[0]} 1"])
        cells = [_spread([one[f"{name} {k}"].mean() for one in ordered]) for k in (1, 5)]
        lines.append(["", name, *cells, _interval(paired[name]) if name != MODELS[0] else ""])
    return lines, paired, {name: float(mean[f"{name} 1"].mean()) for name in MODELS}


def _title(tasks: Sequence[Searched], test: str, numbers: Values) -> str:
    least = [tasks[int(number)].costs.min() for number in numbers]
    once = {"all": dict.fromkeys(range(len(least)), 1.0)}
    effective = effective_tasks(TaskCosts.of(least, np.arange(len(least))), once)
    return f"{test}: {len(least)} tasks, {effective:.1f} effective"


def _interval(difference: PairedDifference) -> str:
    return f"{difference.value:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"


def _by_task(found: dict[str, list[float]]) -> dict[str, Values]:
    order = np.argsort(found["task"])
    return {name: np.array(values, np.float64)[order] for name, values in found.items()}


def _spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def run_seeds(
    tasks: Sequence[Searched], folder: Path, seeds: Sequence[int], jobs: int
) -> list[Scores]:
    """Return what each seed gives; what the folder has already is taken from there."""
    sources = sorted({learned for learned, _ in TESTS.values()})
    paths = {
        (seed, learned): folder / f"seed{seed}-{'-'.join(learned)}.json"
        for seed in seeds
        for learned in sources
    }
    in_processes([partial(run_part, tasks, path, *unit) for unit, path in paths.items()], jobs)
    found: list[Scores] = [{} for _ in seeds]
    for (seed, _), path in paths.items():
        found[seeds.index(seed)] |= json.loads(path.read_text("utf-8"))
    return found


def _check(test: str, paired: dict[str, PairedDifference], means: dict[str, float]) -> bool:
    """Print whether our features meet the target of a test, alone and joined."""
    target = 0.80 if "from" in test else 0.85
    held = [
        verdict(
            means[name] >= target and paired[name].is_better,
            f"{test}: {name} {means[name]:.3f} ≥ {target}, interval above zero",
        )
        for name in MODELS[2:]
    ]
    return held[-1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data/ansor"))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/ansor"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    chosen = parser.parse_args()
    if not chosen.data.is_dir():
        console.print(f"no records under {chosen.data}: give --data")
        return 2
    chosen.output.mkdir(parents=True, exist_ok=True)
    tasks = read_tasks(chosen.data, chosen.output, chosen.jobs)
    seeds = run_seeds(tasks, chosen.output, chosen.seeds, chosen.jobs)
    holds = True
    for pool in POOLS:
        lines = []
        for test in TESTS:
            found, paired, means = rows_of(tasks, seeds, test, pool)
            lines += found
            if pool == POOLS[0]:
                holds &= _check(test, paired, means)
        show(f"best / picked, candidates: {pool}", ("", "", "top-1", "top-5", "less steps"), lines)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
