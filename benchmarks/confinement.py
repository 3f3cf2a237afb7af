"""What confining a worker costs, in the run of ``benchmarks.overhead``.

Claim: 32 small graphs × eager take at most 2 % longer with the sandbox than without. Both are run
in turns, each several times; what is compared is the processor time of everything that a run
starts, which waiting and other people's work disturb least, and the median of its ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import show, verdict
from benchmarks.overhead import small_graph
from graph_net.graph import to_bytes
from graph_net.isolate.sandbox import SWITCH

LIMIT = 1.02


def cpu_seconds(place: Path, count: int, sandbox: bool) -> float:
    """Processor seconds of a run over so many graphs."""
    environment = {key: value for key, value in os.environ.items() if key != SWITCH}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "benchmarks.overhead", "--asked", str(place), str(count)],
        env=environment if sandbox else {**environment, SWITCH: "off"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graphs", type=int, default=32)
    options.add_argument("--pairs", type=int, default=8)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for size in range(1, given.graphs + 1):
            (place / str(size)).write_bytes(to_bytes(small_graph(size)))
        pairs = []
        for turn in range(given.pairs):
            order = (True, False) if turn % 2 else (False, True)
            seconds = {kind: cpu_seconds(place, given.graphs, kind) for kind in order}
            pairs.append((seconds[True], seconds[False]))
    ratios = sorted(confined / free for confined, free in pairs)
    middle = statistics.median(ratios)
    show(
        f"{given.graphs} small graphs × eager, {given.pairs} pairs of runs",
        ("how", "processor s a graph"),
        [
            ["confined", f"{statistics.median(c for c, _ in pairs) / given.graphs:.4f}"],
            ["--no-sandbox", f"{statistics.median(f for _, f in pairs) / given.graphs:.4f}"],
        ],
    )
    words = f"{middle:.3f} × as much confined ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    return 0 if verdict(middle <= LIMIT, f"{words}; at most {LIMIT}") else 1


if __name__ == "__main__":
    sys.exit(main())
