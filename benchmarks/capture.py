"""Capturing a Llama of 69 B parameters that is nowhere in memory.

Claim: the process never holds more than 2 GiB, a hundredth of the weights, and says how long it
took beside building and capturing the 7 B one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from benchmarks.common import show, verdict

SIZES = {
    "7 B": {"hidden": 4096, "layers": 32, "heads": 32, "inner": 11008},
    "69 B": {"hidden": 8192, "layers": 80, "heads": 64, "inner": 28672},
}
CHILD = """
import json, resource, sys, time
import torch
from graph_net.capture import capture
from graph_net.capture.check import check_graph_runs
from graph_net.capture.weights import without_weights
from benchmarks.llama import Llama
size = json.loads(sys.argv[1])
start = time.perf_counter()
with without_weights():
    model = Llama(**size).eval()
(graph,) = capture(model, (torch.zeros(1, 128, dtype=torch.int64),)).graphs
took = time.perf_counter() - start
check_graph_runs(graph)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
print(json.dumps([graph.parameters, len(graph.nodes), took, peak]))
"""


def captured(size: dict[str, int]) -> tuple[int, int, float, int]:
    """Parameters, nodes, seconds and peak bytes of a capture in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(size)], stdout=subprocess.PIPE, check=True
    )
    parameters, nodes, took, peak = json.loads(done.stdout)
    return parameters, nodes, took, peak


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    found = {name: captured(size) for name, size in SIZES.items()}
    rows = [
        [name, f"{p / 1e9:.1f} G", f"{nodes:,}", f"{took:.1f}", f"{peak / 2**30:.2f} GiB"]
        for name, (p, nodes, took, peak) in found.items()
    ]
    show(
        "Llama without weights",
        ("model", "parameters", "nodes", "seconds", "peak memory"),
        rows,
    )
    parameters, _, _, peak = found["69 B"]
    share = peak / (4 * parameters)
    return (
        0
        if verdict(
            share < 0.01, f"memory is {share:.2%} of the weights' {4 * parameters / 2**30:.0f} GiB"
        )
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
