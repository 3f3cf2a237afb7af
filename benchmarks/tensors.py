"""Drawing a tensor from a recipe, against numpy, torch and a plain fill of memory.

All take turns in one process, so that each sees the same machine. Exits with 1 if drawing is
not at least three times as fast as numpy's randn.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from graph_net.graph.recipe import Normal
from graph_net.graph.tensors import draw

GOAL = 3.0
OURS = "graph_net draw, float32"
RANDN = "numpy randn, to float32"
FILL = "memory fill (np.empty, fill)"


def contestants(count: int) -> dict[str, Callable[[], object]]:
    """What is timed; each makes a new array of count float32 values."""
    generator = np.random.default_rng(0)
    return {
        OURS: lambda: draw(Normal(0.0, 1.0), (count,), "float32", name="weight"),
        RANDN: lambda: np.random.randn(count).astype(np.float32),
        "numpy default_rng, float32": lambda: generator.standard_normal(count, dtype=np.float32),
        "torch randn, float32": lambda: torch.randn(count),
        FILL: lambda: np.empty(count, dtype=np.float32).fill(1.0),
    }


def seconds(job: Callable[[], object]) -> float:
    """How long one call takes; what it made is freed after the clock has stopped."""
    start = time.perf_counter()
    made = job()
    elapsed = time.perf_counter() - start
    del made
    return elapsed


def main() -> int:
    """Print the table; 0 where the goal is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the tensor")
    parser.add_argument("--repeats", type=int, default=5, help="turns; the median counts")
    parser.add_argument("--threads", type=int, help="threads of draw and torch, if not torch's own")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    jobs = contestants(int(options.gigabytes * 2**30 / 4))
    for job in (*contestants(1 << 16).values(), jobs[FILL]):
        job()  # tables, thread pools, and memory that the machine must first find
    times: dict[str, list[float]] = {name: [] for name in jobs}
    order = list(jobs)
    for _ in range(options.repeats):
        for name in order:
            times[name].append(seconds(jobs[name]))
        order.append(order.pop(0))  # nobody always follows the same one
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    print(f"{options.gigabytes:g} GB of float32, {torch.get_num_threads()} threads, median of")
    print(f"{options.repeats} turns (fastest to slowest in brackets)\n")
    print(f"{'':30} {'seconds':>8} {'':>17} {'GB/s':>7} {'draw is':>9}")
    for name, median in medians.items():
        spread = f"({min(times[name]):.3f}-{max(times[name]):.3f})"
        rate, ratio = options.gigabytes / median, median / medians[OURS]
        print(f"{name:30} {median:8.3f} {spread:>17} {rate:7.2f} {ratio:8.2f}x")
    ratio = medians[RANDN] / medians[OURS]
    met = ratio >= GOAL
    verdict = "met" if met else "MISSED"
    print(f"\nGoal, {GOAL:g}x as fast as numpy randn: {verdict} ({ratio:.1f}x).")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
