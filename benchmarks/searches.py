"""Searches with a model, replayed: how many measurements until a program is within 2 % of the best.

    python -m benchmarks.searches h200 -o docs/studies
    python -m benchmarks.searches kernel_tuner --data KERNEL_TUNER_FILES -o docs/studies

``h200``: a blend learned from the training networks of dataset/programs/h200 searches the tasks of
its held-out networks and the exhaustively measured spaces. ``kernel_tuner``: a convolution on four
GPUs, from scratch, and from a model of one other GPU. Every search is in ``--work`` and is not done
again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from graph_net.learn.cost_model import CostModel
from graph_net.learn.learning_set import LearningSet, tabular_set
from graph_net.learn.model_registry import model_from_text
from graph_net.learn.read_set import read_set
from graph_net.learn.set_split import ChosenSplit, split_set, splits_at
from graph_net.learn.studies.study import StudyPicture, markdown_table
from graph_net.learn.studies.study_page import StudyPage
from graph_net.results import canonical
from graph_net.search.models import make_proposer
from graph_net.search.replay import ReplayedTask, replay_set, replay_t4
from graph_net.search.search import Search, SearchPlan
from graph_net.store.journal import LineJournal, whole_lines

WITHIN = 0.02
H200_SEEDS, KERNEL_TUNER_SEEDS = range(3), range(30)
GPUS = ("A100", "A4000", "MI250X", "W6600")
OTHERS = "the others"
"""A model's source: all GPUs but the one that is searched."""
H200_TRIALS, SCRATCH_TRIALS, TRANSFER_TRIALS = 32, 100, 40
POLISH = {"transfer": 0.2}
"""The part of the budget for the neighbourhood of the incumbent, by way; others have none."""
H200_WAYS = ("random", "pretrained", "process")
PAGES = {
    "h200": (
        "Searches with a model of other networks, on the H200",
        "A blend learned from the training networks searches the tasks of the held-out networks "
        "(140 programs of each, or its whole space) and eight spaces of which every program was "
        "measured, by replay: `pretrained` measures in the model's order, `process` corrects it by "
        "what it measured. *Near* is within 2 % of the best of the task. The last column has the "
        "measurements until a program of each space is near its true best; –: not in 32.",
    ),
    "kernel_tuner": (
        "Searches of a convolution on four GPUs",
        "Kernel Tuner's convolution, 4,362 configurations on each GPU, by replay: how many of 30 "
        "seeds reach a configuration within 2 % of the best, of at most 100 measurements from "
        "scratch and 40 with a model of one other GPU, or of the other three; then the median of "
        "the measurements this takes over all seeds; –: most do not reach it. Features, covariance "
        "and bound were chosen on these spaces, with other runs.",
    ),
}
OTHER_GPU = "lightgbm[rounds=300,least_in_leaf=2,threads=1]"


@dataclass(frozen=True)
class Cell:
    """One search: which space, which way, from what, with which seed."""

    space: str
    way: str
    source: str
    seed: int


Curve = list[float]
"""Best of the space / best found, after each measurement."""


def search(task: ReplayedTask, cell: Cell, model: CostModel | None, trials: int) -> Curve:
    """Return the curve of one search."""
    most = min(trials, len(task.space.schedules))
    plan = SearchPlan(most, polish=POLISH.get(cell.way, 0.0), seed=cell.seed)
    proposer = make_proposer(cell.way, model, cell.seed)
    history = Search(task.space, task.measurer, proposer, plan).run()
    return [task.measurer.best / seconds for seconds in history.curve]


def needed(curve: Curve) -> float:
    """Return after how many measurements a program was near the best; infinite: not in these."""
    return next((n for n, part in enumerate(curve, 1) if part >= 1 / (1 + WITHIN)), np.inf)


def random_needed(task: ReplayedTask) -> float:
    """Return how many measurements random order takes on average until one is near the best."""
    costs = np.array(list(task.measurer.costs.values()))
    near = int((costs <= (1 + WITHIN) * costs.min()).sum())
    return (costs.size + 1) / (near + 1)


class Results:
    """Curves of searches, in a journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, Curve] = {}
        for line in whole_lines(path) if path.exists() else ():
            tree = json.loads(line)
            self.done[tree["cell"]] = tree["curve"]

    def get(self, cell: Cell, compute: Callable[[], Curve]) -> Curve:
        """Return the curve of a cell, computed where it is not there."""
        key = canonical([cell.space, cell.way, cell.source, cell.seed])
        if key not in self.done:
            self.done[key] = compute()
            with LineJournal(self.path) as journal:
                journal.append(json.dumps({"cell": key, "curve": self.done[key]}).encode())
            print(key, needed(self.done[key]), flush=True)
        return self.done[key]


Found = list[tuple[Cell, Curve]]


def run_kernel_tuner(data: Path, results: Results) -> tuple[Found, dict[str, ReplayedTask]]:
    """Search a convolution on each GPU: from scratch, from each other one, from all others."""
    tasks = {gpu: replay_t4(data / f"convolution_{gpu}_T4.json.gz", gpu) for gpu in GPUS}

    @cache
    def learned(gpus: tuple[str, ...], seed: int) -> CostModel:
        model = model_from_text(OTHER_GPU, seed)
        model.fit(join_tasks([tasks[gpu] for gpu in gpus]))
        return model

    def model_for(cell: Cell) -> CostModel:
        others = tuple(gpu for gpu in GPUS if gpu != cell.space)
        return learned(others if cell.source == OTHERS else (cell.source,), cell.seed)

    cells = [Cell(gpu, "scratch", "", seed) for seed in KERNEL_TUNER_SEEDS for gpu in GPUS]
    cells += [
        Cell(gpu, "transfer", source, seed)
        for seed in KERNEL_TUNER_SEEDS
        for gpu in GPUS
        for source in (*GPUS, OTHERS)
        if source != gpu
    ]

    def compute(cell: Cell) -> Curve:
        model = model_for(cell) if cell.source else None
        trials = TRANSFER_TRIALS if cell.source else SCRATCH_TRIALS
        return search(tasks[cell.space], cell, model, trials)

    return [(cell, results.get(cell, partial(compute, cell))) for cell in cells], tasks


def join_tasks(tasks: Sequence[ReplayedTask]) -> LearningSet:
    """Return spaces with the same parameters as one set, a task each."""
    sets = [task.space.data for task in tasks]
    return tabular_set(
        sets[0].columns,
        np.concatenate([one.rows for one in sets]),
        np.concatenate([one.programs.costs for one in sets]),
        np.repeat(np.arange(len(sets)), [len(one.rows) for one in sets]),
        [one.tasks[0] for one in sets],
    )


def kernel_tuner_table(found: Found, tasks: Mapping[str, ReplayedTask]) -> str:
    """Return how many seeds reached each GPU's best, and when: from scratch, then from models."""
    sources, rows = ("", *GPUS, OTHERS), []
    for gpu in GPUS:
        counts = [
            [needed(curve) for cell, curve in found if (cell.space, cell.source) == (gpu, source)]
            for source in sources
        ]
        rows.append([gpu, f"{random_needed(tasks[gpu]):,.0f}", *map(_reached, counts)])
    heads = ["GPU", "random, mean", "from scratch", *(f"from {source}" for source in sources[1:])]
    return markdown_table(heads, rows)


def run_h200(dataset: Path, results: Results) -> Found:
    """Search tasks of held-out networks, and the exhaustive spaces, with a model of the rest."""
    measured = read_set(dataset / "h200")
    split = ChosenSplit.parse("network")
    train, test = split_set(measured, splits_at(dataset / "h200"), split)
    whole = read_set(dataset / "h200_spaces", per_task=1 << 30)
    tasks = [("task", one) for one in replay_set(test, dataset / "h200")]
    tasks += [("space", one) for one in replay_set(whole, dataset / "h200_spaces")]
    _check_apart(train.data, test.data, whole.data)
    found: Found = []
    for seed in H200_SEEDS:
        model = cache(partial(_blend, train.data, seed))
        for way in H200_WAYS:
            for kind, task in tasks:
                cell = Cell(f"{kind} {task.name}", way, "blend" * (way != "random"), seed)
                compute = partial(_search_h200, task, cell, model)
                found.append((cell, results.get(cell, compute)))
    return found


def _search_h200(task: ReplayedTask, cell: Cell, model: Callable[[], CostModel]) -> Curve:
    return search(task, cell, model() if cell.source else None, H200_TRIALS)


def _blend(data: LearningSet, seed: int) -> CostModel:
    model = model_from_text("blend[threads=1]", seed)
    model.fit(data)
    return model


def _check_apart(train: LearningSet, *tested: LearningSet) -> None:
    known = {task.graph for task in train.tasks}
    if any(task.graph in known for data in tested for task in data.tasks):
        raise SystemExit("a task that is searched was learned from")


def h200_table(found: Found) -> str:
    """Return, by way and seed, the part of tasks near the best in time, and each space's count."""
    rows = []
    for way in H200_WAYS:
        for seed in H200_SEEDS:
            mine = [
                (c.space, needed(curve)) for c, curve in found if (c.way, c.seed) == (way, seed)
            ]
            held = np.array([count for name, count in mine if name.startswith("task")])
            spaces = [count for name, count in mine if name.startswith("space")]
            if held.size and spaces:
                parts = [f"{(held <= limit).mean():.1%}" for limit in (1, 4, 16)]
                rows.append([way, str(seed), str(held.size), *parts, _counts(spaces)])
    heads = ["way", "seed", "tasks", "near after 1", "4", "16", "measurements in the 8 spaces"]
    return markdown_table(heads, rows)


def _reached(counts: Sequence[float]) -> str:
    if not counts:
        return ""
    median = _count(sorted(counts)[len(counts) // 2])
    return f"{sum(map(np.isfinite, counts))} of {len(counts)}, {median}"


def _counts(counts: Sequence[float]) -> str:
    return ", ".join(map(_count, counts))


def _count(count: float) -> str:
    return f"{count:.0f}" if np.isfinite(count) else "–"


def lines(found: Found) -> Iterator[tuple[str, list[tuple[float, float, float]]]]:
    """Yield a line of each way: the mean of best / found over all searches, by measurements."""
    for way in dict.fromkeys(cell.way for cell, _ in found):
        curves = [curve for cell, curve in found if cell.way == way]
        most = max(map(len, curves))
        full = np.array([curve + [curve[-1]] * (most - len(curve)) for curve in curves])
        yield way, [(n + 1.0, float(full[:, n].mean()), 0.0) for n in range(most)]


def main() -> None:
    """Run the searches that are missing, and write the page and the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", choices=["h200", "kernel_tuner"])
    parser.add_argument("--data", type=Path, default=Path("dataset/programs"))
    parser.add_argument("--work", type=Path, default=Path("build/searches"))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/studies"))
    chosen = parser.parse_args()
    results = Results(chosen.work / f"{chosen.what}.jsonl")
    if chosen.what == "h200":
        found = run_h200(chosen.data, results)
        table = h200_table(found)
    else:
        found, tasks = run_kernel_tuner(chosen.data, results)
        table = kernel_tuner_table(found, tasks)
    picture = StudyPicture(list(lines(found)), "measurements", "best / found, mean of all searches")
    data = "" if chosen.what == "h200" else " --data KERNEL_TUNER_FILES"
    command = f"python -m benchmarks.searches {chosen.what}{data} -o {chosen.output}"
    title, about = PAGES[chosen.what]
    StudyPage(title, about, command, picture, table).write(chosen.output, f"search_{chosen.what}")
    print(table)


if __name__ == "__main__":
    main()
