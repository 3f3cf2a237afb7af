"""Trains the in-context ranker on sets of programs, and draws its few-shot curves beside others'.

    python -m benchmarks.in_context export SETS.npz h200=RECORDS k80=FILE,FILE … [--prior]
    python -m benchmarks.in_context train SETS.npz -o MODEL [--steps N] [--test h200]
    python -m benchmarks.in_context curve SETS.npz --models MODEL … --test h200
    python -m benchmarks.in_context join SETS.npz --ranker MODEL -o STACKED

``export`` reads directories of records and files of tuners, and keeps apart the tasks of held-out
networks, or a fifth of the tasks where none says what calls it. ``train`` and ``curve`` need torch
and numpy alone, so that a machine with a GPU can be lent for them. With ``--prior`` every set has
LightGBM's score as a column: of training tasks by trees that never saw the task; ``join`` puts
those trees and what ``train`` gave together to one model.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from graph_net.learn.adapting import (
    Adapts,
    NearestNeighbour,
    RandomOrder,
    ResidualProcess,
    ResidualTrees,
    TaskTrees,
)
from graph_net.learn.cost_model import save_model
from graph_net.learn.few_shot import (
    COUNTS,
    FewShotPoint,
    Strategy,
    compare_curves,
    few_shot_curve,
    format_comparisons,
    tasks_with_more,
)
from graph_net.learn.in_context import PRIOR, InContext
from graph_net.learn.in_context_episodes import join_by_dialect
from graph_net.learn.in_context_files import read_sets, write_sets
from graph_net.learn.in_context_stacked import (
    TREES,
    StackedInContext,
    out_of_fold_scores,
    with_prior,
)
from graph_net.learn.learning_set import Features, LearningSet, LearningTask
from graph_net.learn.metrics import Floats, Ints, TaskCosts
from graph_net.learn.trees import LightGbm

TRAIN, TEST = "train", "test"
ROUNDS, FOLDS = 600, 5
Encode = Callable[[Any, list[str]], list[Features]]


class PriorOrder:
    """The order of the column that another model's scores are in."""

    def predict_given(self, data: LearningSet, measured: Ints) -> Floats:
        """Return the column, of each program's first row."""
        column = data.rows[data.starts[:-1], data.columns.index(PRIOR)]
        return np.asarray(column, np.float64)


def programs_of(source: Path) -> Iterator[Any]:
    """Yield the programs of a file."""
    from graph_net.programs.formats import detect, read_programs
    from graph_net.results import Program

    kernel = source.name.split(".")[0]
    for _, found in read_programs(source, detect(source), kernel):
        if isinstance(found, Program):
            yield found


def encode_triton(task: Any, schedules: list[str]) -> list[Features]:
    """Return the numbers of each configuration, one row."""
    from graph_net.programs.triton.space import TritonSpace, workload_of

    module = json.loads(task.details)["module"]
    space = TritonSpace(workload_of(module), task.target)
    return [np.asarray(space.encode(schedule), np.float32)[None] for schedule in schedules]


def encode_traces(task: Any, schedules: list[str]) -> list[Features]:
    """Return a row for each primitive of a trace, and its position."""
    from graph_net.programs.spaces.primitives import LENGTH, TraceEncoder

    encoder = TraceEncoder()
    lengths = [min(LENGTH, encoder.rows(schedule)) for schedule in schedules]
    return _with_positions(encoder.encode(schedules), lengths)


def encode_ansor(task: Any, schedules: list[str]) -> list[Features]:
    """Return a row for each step, and its position."""
    from graph_net.programs.spaces.ansor_steps import GPU_LENGTH, encode_steps, steps_of

    lengths = [min(GPU_LENGTH, len(steps_of(schedule))) for schedule in schedules]
    return _with_positions(encode_steps(schedules), lengths)


def encode_numbers(task: Any, schedules: list[str]) -> list[Features]:
    """Return the numbers of a configuration, by the order of their names."""
    configs = [json.loads(schedule) for schedule in schedules]
    names = sorted(name for name, value in configs[0].items() if isinstance(value, int | float))
    rows = np.log2(1 + np.abs([[config[name] for name in names] for config in configs]))
    return list(rows.astype(np.float32)[:, None])


ENCODERS: dict[str, Encode] = {
    "triton": encode_triton,
    "metaschedule": encode_traces,
    "ansor": encode_ansor,
    "t4": encode_numbers,
}


def read_source(name: str, sources: Iterable[Path], per_task: int) -> LearningSet:
    """Return the programs of some sources, each once, at most so many of a task.

    A directory of records has the features that every cost model takes by default.
    """
    sources = list(sources)
    if sources[0].is_dir():
        from graph_net.learn.read_set import read_set

        return read_set(sources[0], per_task=per_task).data
    groups: dict[str, dict[str, float]] = defaultdict(dict)
    tasks: dict[str, Any] = {}
    for source in sources:
        for program in programs_of(source):
            tasks[program.task.hash] = program.task
            cost = float(np.mean(program.costs)) if program.costs else np.inf
            groups[program.task.hash].setdefault(program.schedule, cost)
    generator = np.random.default_rng(0)
    rows: list[Features] = []
    costs: list[float] = []
    index: list[int] = []
    described: list[LearningTask] = []
    for key, found in groups.items():
        chosen = [list(found)[i] for i in generator.permutation(len(found))[:per_task]]
        if not np.isfinite([found[schedule] for schedule in chosen]).any() or len(chosen) < 2:
            continue
        rows += ENCODERS[tasks[key].format](tasks[key], chosen)
        costs += [found[schedule] for schedule in chosen]
        index += [len(described)] * len(chosen)
        described.append(_describe(name, tasks[key]))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in rows])])
    columns = _columns(tasks[next(iter(groups))].format, rows[0].shape[1])
    return LearningSet(
        columns, np.concatenate(rows), starts, TaskCosts.of(costs, index), tuple(described)
    )


def is_test(task: LearningTask) -> bool:
    """Whether a task is held out: by its networks, else by its name."""
    from graph_net.programs.dataset.splits import is_held_out

    if task.weights:
        return any(map(is_held_out, task.weights))
    return int.from_bytes(sha256(task.name.encode()).digest()[:4]) % 5 == 0


def export(given: argparse.Namespace) -> int:
    """Write the sets of all sources, in two parts each."""
    sets = {}
    for word in given.sources:
        name, _, paths = word.partition("=")
        data = read_source(name, map(Path, paths.split(",")), given.per_task)
        sides = np.array([is_test(task) for task in data.tasks])
        for side, wanted in ((TRAIN, ~sides), (TEST, sides)):
            if wanted.any():
                sets[f"{name}/{side}"] = data.select(np.flatnonzero(wanted).tolist())
                print(name, side, int(wanted.sum()), "tasks", len(sets[f"{name}/{side}"]))
    if given.prior:
        sets = _with_priors(sets, given.sets.with_suffix(".trees"))
    write_sets(given.sets, sets)
    return 0


def train(given: argparse.Namespace) -> int:
    """Train on the training part of every set, save, and draw the curve if asked."""
    sets = read_sets(given.sets)
    options = json.loads(given.options)
    model = InContext(options, given.seed)
    start = time.monotonic()
    wanted = [data for name, data in sets.items() if name.endswith(TRAIN)]
    model.fit_sets(sorted(wanted, key=lambda data: -len(data)))
    print(f"trained in {time.monotonic() - start:.0f} s: {model.settings}")
    save_model(model, given.output)
    for name in given.test:
        show_curves({"in context": model}, sets, name, given)
    return 0


def curve(given: argparse.Namespace) -> int:
    """Draw the curves of saved models."""
    from graph_net.learn.model_registry import load_model

    models: dict[str, Any] = {path.name: load_model(path) for path in given.models}
    for name in given.test:
        show_curves(models, read_sets(given.sets), name, given)
    return 0


def join(given: argparse.Namespace) -> int:
    """Put a ranker and the trees of its sets together to one model."""
    from graph_net.learn.model_registry import load_model

    ranker = load_model(given.ranker)
    trees = [load_model(path) for path in sorted(given.sets.with_suffix(".trees").iterdir())]
    assert isinstance(ranker, InContext)
    model = StackedInContext(ranker.settings, ranker.seed)
    model.assemble([each for each in trees if isinstance(each, LightGbm)], ranker)
    save_model(model, given.output)
    return 0


def show_curves(
    models: dict[str, Adapts],
    sets: dict[str, LearningSet],
    name: str,
    given: argparse.Namespace,
) -> None:
    """Print a table of the models and of simple ones, for each strategy."""
    data = tasks_with_more(sets[f"{name}/{TEST}"], COUNTS[-1])
    every = {**({} if given.against else baselines(data)), **models}
    print(f"\n{name}: {len(data.tasks)} tasks, {len(data)} programs")
    for strategy in Strategy:
        draws = given.draws if strategy is Strategy.RANDOM else 1
        curves: dict[str, list[FewShotPoint]] = {
            label: few_shot_curve(model, data, COUNTS, strategy, range(draws))
            for label, model in every.items()
            if not (label == "random" and strategy is Strategy.GREEDY)
        }
        usual = "LightGBM" if "LightGBM" in curves else next(iter(curves))
        first = given.against or usual
        print(f"\n{strategy} choice of the measured\n")
        print(format_comparisons(compare_curves(curves, first), first), flush=True)


def baselines(data: LearningSet) -> dict[str, Adapts]:
    """Return what a ranker is held against; those of LightGBM where it is installed or a column."""
    found: dict[str, Adapts] = {"random": RandomOrder(), "nearest": NearestNeighbour()}
    if PRIOR in data.columns:
        found |= {"LightGBM": PriorOrder(), "LightGBM + process": ResidualProcess(PriorOrder())}
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        return found
    found["trees of the task"] = TaskTrees()
    if PRIOR in data.columns:
        found["LightGBM + trees"] = ResidualTrees(PriorOrder())
    return found


def _with_priors(sets: dict[str, LearningSet], folder: Path) -> dict[str, LearningSet]:
    """Return the sets with scores of trees that are fitted, and saved, for each dialect."""
    wider = {}
    for number, columns in enumerate(dict.fromkeys(data.columns for data in sets.values())):
        same = {name: data for name, data in sets.items() if data.columns == columns}
        training = [name for name in same if name.endswith(TRAIN)]
        (joined,) = join_by_dialect([same[name] for name in training])
        trees = LightGbm({"rounds": ROUNDS, "threads": 1})
        trees.fit(joined)
        save_model(trees, folder / f"{TREES}-{number}")
        ends = np.cumsum([len(same[name]) for name in training])
        scores = np.split(out_of_fold_scores(joined, ROUNDS, FOLDS, seed=0), ends[:-1])
        outside = dict(zip(training, scores, strict=True))
        for name, data in same.items():
            wider[name] = with_prior(data, outside.get(name, trees.predict(data)))
    return wider


def _describe(name: str, task: Any) -> LearningTask:
    details = json.loads(task.details) if task.details else {}
    weights = details.get("weights", {}) if isinstance(details, dict) else {}
    return LearningTask(task.workload, task.kernel, name, weights)


def _columns(kind: str, count: int) -> tuple[str, ...]:
    if kind == "triton":
        from graph_net.programs.triton.features import NAMES

        return tuple(NAMES)
    return tuple(f"{kind}.{place}" for place in range(count))


def _with_positions(features: Features, lengths: Sequence[int]) -> list[Features]:
    length = features.shape[1]
    place = np.broadcast_to(np.arange(length, dtype=np.float32)[:, None] / length, (length, 1))
    return [
        np.hstack([rows[:count], place[:count]])
        for rows, count in zip(features, lengths, strict=True)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("sets", type=Path)
    parser.add_argument("sources", nargs="*", help="NAME=PATH,PATH… to export")
    parser.add_argument("--per-task", type=int, default=512, help="programs to export, at most")
    parser.add_argument("--prior", action="store_true", help="export LightGBM's scores too")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/in_context"))
    parser.add_argument("--options", default="{}", help="of the model to train, JSON")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, nargs="*", default=[], help="to draw curves of")
    parser.add_argument("--against", help="the model that others are compared with, alone")
    parser.add_argument("--ranker", type=Path, help="to join")
    parser.add_argument("--test", nargs="*", default=[], help="sets to draw curves of")
    parser.add_argument("--draws", type=int, default=3, help="random choices to average over")
    given = parser.parse_args()
    return VERBS[given.verb](given)


VERBS = {"export": export, "train": train, "curve": curve, "join": join}

if __name__ == "__main__":
    sys.exit(main())
