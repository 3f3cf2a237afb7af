"""How well models rank TpuGraphs' layouts and tiles, beside simple baselines in the same run.

    python -m benchmarks.config_models --data TPUGRAPHS

Layouts: five folds of distinct configurations of each labelled file, three seeds (folds are drawn
anew with each), τ against the median run time of each configuration. Tiles: each kernel of a
protobuf is left out in turn and judged by its runs, in the order of the file where scores tie.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from graph_net.configs.config_graph import ConfigGraph, TileConfigs
from graph_net.configs.files import find_files, read_graphs
from graph_net.learn.config_split import fold_configs, split_configs
from graph_net.learn.evaluation import evaluate_scores
from graph_net.learn.metrics import Floats
from graph_net.learn.model_registry import model_from_text
from graph_net.learn.rank_metrics import tau_by_task
from graph_net.learn.read_configs import read_configs

LAYOUT_MODELS = ("additive", "lightgbm[threads=1,targets=ranks]", "layout_levels")
TILE_MODELS = ("lightgbm[threads=1,least_in_leaf=5]", "tile_cost")
FOLDS, KS = 5, (1, 5, 10)
LEAST = 100
"""Configurations of a file that is judged."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3, help="draws of folds")
    parser.add_argument("--layout-models", nargs="*", default=LAYOUT_MODELS)
    parser.add_argument("--skip-tiles", action="store_true")
    chosen = parser.parse_args()
    for path in labelled_layouts(chosen.data):
        judge_layouts(path, chosen.layout_models, chosen.seeds)
    if not chosen.skip_tiles:
        for file in find_files([chosen.data]):
            if file.path.suffix == ".pb":
                kernels = list(read_graphs(file))
                if isinstance(kernels[0].configs, TileConfigs):
                    judge_tiles(file.path, kernels, chosen.seeds)


def labelled_layouts(data: Path) -> Iterator[Path]:
    """Yield the layout files that have run times of many configurations."""
    for file in find_files([data], "layout"):
        (graph,) = read_graphs(file)
        if graph.has_labels and len(graph.configs) >= LEAST:
            yield file.path


def judge_layouts(path: Path, models: list[str], seeds: int) -> None:
    """Print τ of each model on a file: mean over folds, then least and greatest of seeds."""
    measured = read_configs(path)
    ceiling = evaluate_scores(measured, np.zeros(len(measured.data))).score("Kendall τ").ceiling
    print(f"{path.name}: {len(measured.data)} configurations, ceiling {ceiling or np.nan:.3f}")
    found: dict[str, list[list[float]]] = defaultdict(list)
    for seed in range(seeds):
        for name in models:
            found[name].append([])
        for fold in range(FOLDS):
            train, test = fold_configs(measured, fold, seed)
            for name in models:
                model = model_from_text(name, seed)
                model.fit(train.data)
                scores = model.predict(test.data)
                found[name][-1].append(float(tau_by_task(test.data.programs, scores)[0]))
        for name in models:
            means = [np.mean(one) for one in found[name]]
            spread = f"{min(means):.4f} … {max(means):.4f}"
            print(f"  seeds 0-{seed} {name}: {np.mean(means):.4f} ({spread})")
        if len(models) < 2:
            continue
        last = np.array(found[models[-1]]).ravel() - np.array(found[models[-2]]).ravel()
        error = last.std(ddof=1) / np.sqrt(last.size)
        print(f"  {models[-1]} - {models[-2]}: {last.mean():+.4f} ± {error:.4f}", flush=True)


def judge_tiles(path: Path, kernels: list[ConfigGraph], seeds: int) -> None:
    """Print slowdown@1, 5 and 10, the mean over kernels, each left out in turn."""
    measured = read_configs(path)
    print(f"{path.name}: {len(kernels)} kernels; slowdown@{', '.join(map(str, KS))}")
    rows = [_slowdowns(kernel, _largest(kernel)) for kernel in kernels]
    print(f"  largest tile first: {_shown(rows)}")
    rows = [
        _slowdowns(kernel, -np.arange(len(kernel.configs), dtype=np.float64)) for kernel in kernels
    ]
    print(f"  the compiler's own choice first: {_shown(rows)}")
    for name in TILE_MODELS:
        for seed in range(seeds):
            rows = []
            for kernel in kernels:
                scores = np.zeros(len(kernel.configs))
                if len(kernel.configs) > 1:
                    train, test = split_configs(measured, f"leave:{kernel.name}")
                    model = model_from_text(name, seed)
                    model.fit(train.data)
                    scores = model.predict(test.data)
                rows.append(_slowdowns(kernel, scores))
            print(f"  {name}, seed {seed}: {_shown(rows)}", flush=True)


def _slowdowns(kernel: ConfigGraph, scores: Floats) -> list[float]:
    order = np.argsort(-scores[kernel.run_config], kind="stable")
    return [float(kernel.run_ns[order[:k]].min() / kernel.run_ns.min() - 1) for k in KS]


def _largest(kernel: ConfigGraph) -> Floats:
    assert isinstance(kernel.configs, TileConfigs)
    bounds = np.maximum(kernel.configs.bounds()[:, :2], 1)
    return np.asarray(bounds.reshape(len(bounds), -1).prod(axis=1), np.float64)


def _shown(rows: list[list[float]]) -> str:
    return " / ".join(f"{value:.2%}" for value in np.mean(rows, axis=0))


if __name__ == "__main__":
    main()
