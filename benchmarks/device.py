"""A bundle on a GPU against one process after another, as GraphNet's tool measures.

``graph-net bench --device cuda --compilers inductor --limit 40 --plan plan.zip`` makes the bundle;
``python -m benchmarks.device plan.zip`` runs it on the machine with the GPU, which needs torch and
numpy. Claim: the wall time a graph is at most 1/5 of a fresh process a graph, compiling and
measuring one after the other.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path

LONGEST = 120.0
"""A process that takes longer is counted as this long."""
ALONE = """
import json, sys, zipfile
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from graph_net.measure.bundle import bundle_tasks, read_plan
from graph_net.measure.worker import Worker
import torch
with zipfile.ZipFile(sys.argv[1]) as bundle:
    tasks = list(bundle_tasks(bundle, read_plan(bundle)))
task = tasks[int(sys.argv[2])]
record = Worker(task, Path(sys.argv[3])).run()
print(record.subject.name, record.failure or record.timing.verdict, file=sys.stderr)
"""


def alone(bundle: Path, number: int) -> float:
    """Seconds of one graph in a fresh process."""
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        command = [sys.executable, "-c", ALONE, str(bundle.absolute()), str(number), place]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, timeout=LONGEST)
        took = time.perf_counter() - start
        print(f"alone: graph {number} in {took:.0f} s", flush=True)
        return took


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bundle", type=Path)
    options.add_argument("--alone", type=int, default=6, help="so many graphs one after another")
    options.add_argument("--output", type=Path, default=Path("records.jsonl"))
    options.add_argument("--budget", type=float, default=300.0)
    given = options.parse_args()
    with zipfile.ZipFile(given.bundle) as bundle:
        count = sum(name.startswith("graphs/") for name in bundle.namelist())
    start = time.perf_counter()
    command = [sys.executable, str(given.bundle), "-o", str(given.output)]
    subprocess.run([*command, "--budget", str(given.budget)], check=True)
    lanes = time.perf_counter() - start
    print(f"lanes: {lanes:.0f} s", flush=True)
    lines = given.output.read_bytes().count(b"\n")
    step = max(1, count // given.alone)
    chosen = list(range(0, count, step))[: given.alone]
    measured = [b'"failure":null' in line for line in given.output.open("rb")]
    print(f"{lines} of {count} graphs in {lanes:.0f} s, {sum(measured)} measured, "
          f"{lines - sum(measured)} failed")  # fmt: skip
    per_lane = lanes / max(lines, 1)
    taken: list[float] = []
    for number in chosen:
        # The ratio is told after each: a machine lent for minutes may be gone before the last.
        taken.append(alone(given.bundle, number))
        per_alone = sum(taken) / len(taken)
        holds = per_lane <= per_alone / 5
        print(f"lanes: {per_lane:.1f} s a graph; one after another ({len(taken)}): "
              f"{per_alone:.1f} s; {per_alone / per_lane:.1f} × less, claim: at least 5 ×, "
              f"{'holds' if holds else 'FAILS'}", flush=True)  # fmt: skip
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
