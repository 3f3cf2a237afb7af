"""How well layouts are ranked before they run, on graphs that were not learned from.

    python -m benchmarks.layout_ranking JOURNAL

Families of graphs are dealt into five folds, three times; each graph is ranked by what was learned
from the other folds. τ is Kendall's between scores and the measured time over the original's, of
the layouts of one graph; slowdown@k the least time among the k best-ranked over the least of all,
less 1. The last line is the τ between two measurements of the same layouts. ``--other JOURNAL``, of
another compiler, adds the τ between the two over layouts that both have.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from graph_net.configs.layouts.hand_features import feature_row, label_of
from graph_net.configs.layouts.layout_predictor import ROUNDS, SETTINGS, read_layouts
from graph_net.learn.rank_metrics import kendall_tau
from graph_net.score.family import family_of

FOLDS, SEEDS, KS = 5, 3, (1, 5)
FEWEST = 20
"""Layouts of a graph that τ is taken of."""
Rows = dict[str, list[Any]]


def read_rows(journal: Path, fewest: int) -> dict[str, Rows]:
    """Return features, labels and families by graph; second measurements apart."""
    found: dict[str, Rows] = defaultdict(lambda: defaultdict(list))
    for program in read_layouts(journal):
        if program.failure is not None:
            continue
        told, extra = json.loads(program.task.details), json.loads(program.extra)
        rows = found[told["graph"]]
        if extra.get("again"):
            rows["again"].append((program.schedule, label_of(program.costs, extra)))
            continue
        rows["schedule"].append(program.schedule)
        seconds = median(extra["control"])
        rows["x"].append(feature_row(program.schedule, told["kinds"], extra["copies"], seconds))
        rows["y"].append(label_of(program.costs, extra))
        rows["bytes"].append(sum(size for _, size in extra["copies"].values()))
        rows["family"] = [family_of(told["library"], told["model"])]
    return {graph: rows for graph, rows in found.items() if len(rows["y"]) >= fewest}


def learned(train: Sequence[Rows], seed: int) -> Callable[[Rows], Any]:
    """Return what predicts, learned from some graphs."""
    import lightgbm

    features = np.array([row for rows in train for row in rows["x"]])
    labels = np.array([label for rows in train for label in rows["y"]])
    data = lightgbm.Dataset(features, labels)
    booster = lightgbm.train({**SETTINGS, "seed": seed}, data, ROUNDS)
    return lambda rows: booster.predict(np.array(rows["x"]))


def slowdown(rows: Rows, scores: Sequence[float], k: int) -> float:
    """Return what choosing the best of the k best-ranked costs over the best of all."""
    times = np.exp(np.array(rows["y"]))
    chosen = np.argsort(np.array(scores), kind="stable")[:k]
    return float(times[chosen].min() / times.min() - 1)


def main() -> None:
    """Print a row for each way of ranking."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("journal", type=Path)
    parser.add_argument("--other", type=Path)
    options = parser.parse_args()
    graphs = read_rows(options.journal, FEWEST)
    if options.other:
        print_agreement(graphs, read_rows(options.other, 1))
    families = sorted({rows["family"][0] for rows in graphs.values()})
    scores: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for seed in range(SEEDS):
        draw = random.Random(seed)  # noqa: S311
        fold = {family: draw.randrange(FOLDS) for family in families}
        for number in range(FOLDS):
            train = [rows for rows in graphs.values() if fold[rows["family"][0]] != number]
            model = learned(train, seed)
            for rows in graphs.values():
                if fold[rows["family"][0]] == number:
                    chance = [draw.random() for _ in rows["y"]]
                    ways = {"random": chance, "bytes moved": rows["bytes"], "LightGBM": model(rows)}
                    for name, values in ways.items():
                        tau = kendall_tau(values, rows["y"])
                        kept = (slowdown(rows, values, k) for k in KS)
                        scores[name].append((tau, *kept))
    total = sum(len(rows["y"]) for rows in graphs.values())
    print(f"{total:,} layouts of {len(graphs)} graphs of {len(families)} families")
    print(f"{'':<14}{'mean τ':>8}{'median τ':>10}" + "".join(f"{f'slow@{k}':>10}" for k in KS))
    for name, found in scores.items():
        columns = list(zip(*found, strict=True))
        slow = "".join(f"{fmean(column):>10.1%}" for column in columns[1:])
        print(f"{name:<14}{fmean(columns[0]):>8.3f}{median(columns[0]):>10.3f}{slow}")
    print_ceiling(graphs)


def print_agreement(graphs: dict[str, Rows], others: dict[str, Rows]) -> None:
    """Print the mean τ between two compilers over the layouts of each graph that both have."""
    taus, total = [], 0
    for graph in graphs.keys() & others.keys():
        first, second = (
            dict(zip(rows["schedule"], rows["y"], strict=True))
            for rows in (graphs[graph], others[graph])
        )
        common = sorted(first.keys() & second.keys())
        if len(common) > 2:
            total += len(common)
            taus.append(kendall_tau([first[s] for s in common], [second[s] for s in common]))
    if taus:
        print(f"both: {total} layouts of {len(taus)} graphs, mean τ {fmean(taus):.3f}")


def print_ceiling(graphs: dict[str, Rows]) -> None:
    """Print the τ between first and second measurements, over all graphs together."""
    pairs = [
        (dict(zip(rows["schedule"], rows["y"], strict=True))[schedule], label)
        for rows in graphs.values()
        for schedule, label in rows["again"]
        if schedule in rows["schedule"]
    ]
    if len(pairs) > 2:
        first, second = zip(*pairs, strict=True)
        away = 100 * median(abs(a - b) for a, b in pairs)
        print(
            f"{len(pairs)} measured twice: τ {kendall_tau(first, second):.3f}, {away:.2f} % apart"
        )


if __name__ == "__main__":
    main()
