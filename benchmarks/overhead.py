"""What measuring costs beside the measurement: forked workers against fresh processes.

Claims: the wall time a graph, for 32 small graphs with eager, is at most 1/5 of one fresh Python
process a graph that does the same, as GraphNet's tool starts one; and the asking process's memory
does not grow with the number of graphs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.common import show, verdict
from graph_net.graph import Graph, from_bytes, to_bytes
from graph_net.measure import Measurement, Protocol, measure
from graph_net.measure.device import describe
from graph_net.results import Config, ConfigKind, Subject
from graph_net.testing.models import graph_of

QUICK = Protocol(seconds=0.02, warm_seconds=0.01, min_blocks=2, max_blocks=2, noise_limit=1e9)
ALONE = """
import sys
from pathlib import Path
from graph_net.graph import from_bytes
from graph_net.measure.worker import Worker
from benchmarks.overhead import task_of
record = Worker(task_of(from_bytes(Path(sys.argv[1]).read_bytes())), Path(sys.argv[2])).run()
assert record.failure is None, record.failure
"""


def small_graph(size: int) -> Graph:
    model = torch.nn.Sequential(torch.nn.Linear(size, size), torch.nn.ReLU())
    return graph_of(model, (torch.randn(4, size),), name=f"small{size}")


def task_of(graph: Graph) -> Measurement:
    subject = Subject(graph.id, graph.structure, graph.provenance.model)
    config = Config(ConfigKind.COMPILER, "eager", torch.__version__)
    return Measurement(subject, config, describe("cpu"), to_bytes(graph), QUICK)


def tasks(place: Path, count: int) -> Iterator[Measurement]:
    for size in range(1, count + 1):
        yield task_of(from_bytes((place / str(size)).read_bytes()))


def asked(place: Path, count: int) -> None:
    """Measure so many graphs, and print this process's peak memory."""
    for record in measure(tasks(place, count), jobs=2, compilers=["eager"]):
        assert record.failure is None, record.failure
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)


def lanes(place: Path, count: int) -> tuple[float, int]:
    """Seconds for so many graphs from start to end, and the asking process's peak memory."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.overhead", "--asked", str(place), str(count)],
        check=True,
        stdout=subprocess.PIPE,
    )
    return time.perf_counter() - start, int(done.stdout)


def fresh(place: Path, count: int) -> float:
    """Seconds for so many graphs, one new process each."""
    start = time.perf_counter()
    for size in range(1, count + 1):
        path = str(place / str(size))
        subprocess.run([sys.executable, "-c", ALONE, path, f"{path}-work"], check=True)
    return time.perf_counter() - start


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graphs", type=int, default=32)
    options.add_argument("--fresh", type=int, default=12, help="how many of them in processes")
    options.add_argument("--many", type=int, default=256, help="graphs for the growth of memory")
    options.add_argument("--asked", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.asked:
        asked(Path(given.asked[0]), int(given.asked[1]))
        return 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for size in range(1, given.many + 1):
            (place / str(size)).write_bytes(to_bytes(small_graph(size)))
        forked, before = lanes(place, given.graphs)
        alone = fresh(place, given.fresh)
        _, after = lanes(place, given.many)
    per_forked, per_fresh = forked / given.graphs, alone / given.fresh
    grown = (after - before) / 2**20
    show(
        f"{given.graphs} small graphs × eager",
        ("how", "s a graph", "ratio"),
        [
            ["lanes", f"{per_forked:.3f}", "1"],
            ["one process a graph", f"{per_fresh:.3f}", f"{per_fresh / per_forked:.1f}"],
        ],
    )
    holds = [
        verdict(per_forked <= per_fresh / 5, f"{per_fresh / per_forked:.1f} × less a graph"),
        verdict(
            grown < 2,
            f"{given.many} graphs instead of {given.graphs}: {grown:+.1f} MiB",
        ),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
