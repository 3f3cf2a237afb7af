"""Peak memory of training on graphs of growing size: whole graphs, and segments.

    python -m benchmarks.segment_training

Each measurement is a process of its own, 1,000 configurations, configurations joined early. The
last line is the ratio of what 20,000 nodes take over what 2,000 take.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import numpy as np

from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs, NodeTable
from graph_net.formats.tpugraphs.opcodes import CONVOLUTION, NUMBERS

CONFIGS, SEGMENT = 1000, 1000
SIZES = (2_000, 6_000, 20_000)
EVERY = 25
"""One node in so many is configurable."""


def large_graph(nodes: int, configs: int = CONFIGS, seed: int = 0) -> ConfigGraph:
    """Return a chain with skips of so many nodes; costs add up over settings, with noise."""
    draw = np.random.default_rng(seed)
    features = np.zeros((nodes, 140), np.float32)
    features[:, 21:25] = draw.choice([8, 32, 128, 256], (nodes, 4))
    opcodes = draw.choice([NUMBERS["add"], NUMBERS["multiply"], NUMBERS["maximum"]], nodes)
    places = np.arange(EVERY, nodes, EVERY)
    opcodes[places] = CONVOLUTION
    later = np.arange(1, nodes)
    skips = np.stack([later, np.maximum(later - draw.integers(2, 9, nodes - 1), 0)], axis=1)
    edges = np.unique(np.concatenate([np.stack([later, later - 1], axis=1), skips]), axis=0)
    edges = edges[edges[:, 0] > edges[:, 1]]
    settings = np.full((4, 18), -1, np.int8)
    settings[:, :2] = [(0, 1), (1, 0), (1, 2), (2, 1)]
    codes = draw.integers(0, 4, (configs, len(places))).astype(np.uint8)
    shares = draw.exponential(1.0, (len(places), 4))
    costs = 1e6 * (shares[np.arange(len(places)), codes].sum(axis=1) + 1)
    table = NodeTable(features, opcodes.astype(np.uint8), edges.astype(np.int32))
    layouts = LayoutConfigs(places, settings, codes)
    return ConfigGraph(
        f"chain_{nodes}", table, layouts, np.arange(configs, dtype=np.int32), costs.astype(np.int64)
    )


def train(nodes: int, segment: int, epochs: int) -> dict[str, float]:
    """Train in this process; return its peak memory, seconds and τ on the training set."""
    import resource

    import torch

    from graph_net.learn.config_set import ConfigSet
    from graph_net.learn.graph_neural import GraphSage
    from graph_net.learn.learning_set import LearningTask
    from graph_net.learn.metrics import TaskCosts
    from graph_net.learn.rank_metrics import tau_by_task

    torch.set_num_threads(1)
    graph = large_graph(nodes)
    count = len(graph.configs)
    data = ConfigSet(
        ("none",), np.zeros((count, 1), np.float32), np.arange(count + 1),
        TaskCosts.of(graph.costs(), np.zeros(count, np.int64)), (LearningTask(graph.name),),
        (graph,), np.arange(count), np.ones(count, np.int64),
    )  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    options = {
        "join": "early", "hops": 0, "segment": segment, "epochs": epochs, "layers": 2,
        "width": 16, "configs_of_step": 16,
    }  # fmt: skip
    model = GraphSage(options)
    start = time.perf_counter()
    model.fit(data)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scores = model.predict(data.take(np.arange(200)))
    tau = float(tau_by_task(data.take(np.arange(200)).programs, scores)[0])
    return {"peak_mib": (peak - before) / 1024, "seconds": seconds, "tau": tau}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, type=int, metavar=("NODES", "SEGMENT", "EPOCHS"))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--whole-up-to", type=int, default=6_000)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(train(*chosen.one)))
        return
    peaks: dict[tuple[str, int], float] = {}
    print(
        "| nodes | training | peak MiB above start | seconds per epoch | τ, seen configurations |"
    )
    print("|---|---|---|---|---|")
    for nodes in SIZES:
        for name, segment in (("segments", SEGMENT), ("whole", 0)):
            if name == "whole" and nodes > chosen.whole_up_to:
                continue
            found = _apart(nodes, segment, chosen.epochs)
            peaks[name, nodes] = found["peak_mib"]
            seconds = found["seconds"] / chosen.epochs
            row = (
                f"{nodes:,}",
                name,
                f"{found['peak_mib']:.0f}",
                f"{seconds:.1f}",
                f"{found['tau']:.2f}",
            )
            print("| " + " | ".join(row) + " |", flush=True)
    ratio = peaks["segments", SIZES[-1]] / peaks["segments", SIZES[0]]
    print(f"segments, {SIZES[-1]:,} over {SIZES[0]:,} nodes: {ratio:.2f} of the peak")


def _apart(nodes: int, segment: int, epochs: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.segment_training", "--one"]
    words = [*command, str(nodes), str(segment), str(epochs)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
