"""How well layouts are ranked before they run, on graphs that were not learned from.

    python -m benchmarks.layout_ranking dataset/layouts/h200
    python -m benchmarks.layout_ranking JOURNAL

The data is a platform of the data set, or the journal of a collection. Families of graphs are dealt
into five folds, three times; each graph is ranked by what was learned from the other folds. τ is
Kendall's between scores and the measured time over the original's, of the layouts of one graph;
slowdown@k the least time among the k best-ranked over the least of all, less 1. A lead is the
difference of a graph's τ from the baseline's, over the seeds and then over graphs, with a 95 %
bootstrap interval over graphs. The last line is the τ between two measurements of the same layouts.
``--other``, of another compiler, adds the τ between the two over layouts that both have.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median

import numpy as np

from graph_net.api.layout_examples import read_layout_examples
from graph_net.configs.layouts.layout_examples import GraphLayouts
from graph_net.configs.layouts.layout_models import (
    BLEND,
    MODELS,
    SUMS,
    LayoutModel,
    blend,
    fit_drawn_trees,
)
from graph_net.learn.paired import compare_models
from graph_net.learn.rank_metrics import kendall_tau
from graph_net.learn.studies.layout_folds import (
    FEWEST,
    FOLDS,
    SLOW,
    deal_families,
    family,
    judge_ranking,
)

SEEDS = 3
BASELINE = "LightGBM"
Scores = dict[str, dict[str, list[tuple[float, ...]]]]
"""τ and slowdowns of each seed, by model and graph."""


def judge(graphs: Sequence[GraphLayouts], seeds: Sequence[int]) -> tuple[Scores, dict[str, float]]:
    """Return the scores of every model, and the seconds of a training."""
    scores: Scores = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, float] = defaultdict(float)
    for seed in seeds:
        draw = random.Random(seed)  # noqa: S311
        fold = deal_families(graphs, seed)
        for number in range(FOLDS):
            train = [graph for graph in graphs if fold[family(graph)] != number]
            tested = [graph for graph in graphs if fold[family(graph)] == number]
            for graph in tested:
                chance = np.array([draw.random() for _ in range(len(graph))])
                scores["random"][graph.graph].append(judge_ranking(graph, chance))
                scores["bytes moved"][graph.graph].append(judge_ranking(graph, graph.moved))
            learned: dict[str, LayoutModel] = {}
            for name, fit in MODELS.items():
                begin = time.process_time()
                if name == BLEND:  # the sums of the row above, which take longest
                    model: LayoutModel = blend(learned[SUMS], fit_drawn_trees(train, seed))
                else:
                    model = learned[name] = fit(train, seed)
                seconds[name] += (time.process_time() - begin) / len(seeds) / FOLDS
                for graph in tested:
                    scores[name][graph.graph].append(judge_ranking(graph, model.predict(graph)))
    return scores, seconds


def main() -> None:
    """Print a row for each way of ranking."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="a folder of the data set, or a journal")
    parser.add_argument("--other", type=Path)
    parser.add_argument("--pack", default="", help="the pack of its graphs; else the corpus")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    graphs = [
        graph
        for graph in read_layout_examples(options.data, pack=options.pack)
        if len(graph) >= FEWEST
    ]
    if options.other:
        print_agreement(graphs, read_layout_examples(options.other, pack=options.pack))
    scores, seconds = judge(graphs, range(options.first, options.first + options.seeds))
    total, families = sum(map(len, graphs)), len({family(graph) for graph in graphs})
    print(f"{total:,} layouts of {len(graphs)} graphs of {families} families")
    slow = "".join(f"{f'slow@{k}':>9}" for k in SLOW)
    print(f"{'':<30}{'mean τ':>8}{'median':>8}{slow}   lead of τ, 95 % interval       training")
    for name, found in scores.items():
        print_row(name, found, scores[BASELINE], seconds.get(name))
    print_ceiling(graphs)


def print_row(
    name: str,
    found: dict[str, list[tuple[float, ...]]],
    baseline: dict[str, list[tuple[float, ...]]],
    seconds: float | None,
) -> None:
    """Print a model's figures: means over seeds, then over graphs."""
    own, other = (
        np.array([np.mean(one[graph], axis=0) for graph in sorted(one)])
        for one in (found, baseline)
    )
    lead = compare_models(own[:, 0], other[:, 0])[0]
    slow = "".join(f"{value:>9.1%}" for value in own[:, 1:].mean(axis=0))
    told = f"{lead.value:+.3f} ({lead.low:+.3f} to {lead.high:+.3f})"
    took = "" if seconds is None else f"{seconds:.1f} s"
    row = f"{name:<30}{own[:, 0].mean():>8.3f}{np.median(own[:, 0]):>8.3f}{slow}"
    print(f"{row}   {told if name != BASELINE else '':<30} {took}")


def print_agreement(graphs: Sequence[GraphLayouts], others: Sequence[GraphLayouts]) -> None:
    """Print the mean τ between two compilers over the layouts of each graph that both have."""
    taus, total = [], 0
    second = {graph.graph: labels_by_schedule(graph) for graph in others}
    for graph in graphs:
        first, other = labels_by_schedule(graph), second.get(graph.graph, {})
        common = sorted(first.keys() & other.keys())
        if len(common) > 2:
            total += len(common)
            taus.append(kendall_tau([first[s] for s in common], [other[s] for s in common]))
    if taus:
        print(f"both: {total} layouts of {len(taus)} graphs, mean τ {fmean(taus):.3f}")


def labels_by_schedule(graph: GraphLayouts) -> dict[str, float]:
    """Return the label of each layout by its text."""
    return dict(zip(graph.schedules, graph.labels.tolist(), strict=True))


def print_ceiling(graphs: Sequence[GraphLayouts]) -> None:
    """Print the τ between first and second measurements, over all graphs together."""
    pairs = [
        (known[schedule], label)
        for graph in graphs
        for known in [labels_by_schedule(graph)]
        for schedule, label in graph.again
        if schedule in known
    ]
    if len(pairs) > 2:
        first, second = zip(*pairs, strict=True)
        away = 100 * median(abs(a - b) for a, b in pairs)
        print(
            f"{len(pairs)} measured twice: τ {kendall_tau(first, second):.3f}, {away:.2f} % apart"
        )


if __name__ == "__main__":
    main()
