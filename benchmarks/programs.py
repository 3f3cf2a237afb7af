"""Programs of tasks, built and timed. Claim: at least 5,000 an hour on two cores, none stalls.

Beside it the same schedules with a fresh process a trial, which is how TVM's own builder works:
each imports TVM, and its tensor intrinsics, before it builds one program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.common import console, show, verdict
from graph_net.programs.collect import Collection, Wanted
from graph_net.programs.networks import networks
from graph_net.programs.tasks import CollectedTask, Extraction, merged
from graph_net.record import Program

LEAST = 5_000
NETWORKS = ("tenset/resnet18-1x224", "tenset/mobilenet_v2-1x224", "tenset/bert_tiny-1x128")
FRESH = """
import json, sys, time
began = time.perf_counter()
import tvm, tvm.s_tir.tensor_intrin
from graph_net.space import Workload, repeats_of, space_of
given = json.load(sys.stdin)
work = Workload(**given["workload"])
space_of(work).build(given["schedule"]).times(repeats_of(work.flops))
"""


def tasks_of(names: tuple[str, ...], work: Path, most: int) -> list[CollectedTask]:
    """Tasks of networks, spread evenly over all there are."""
    extraction = Extraction(work / "tasks", os.cpu_count() or 1)
    extraction.run(networks("tenset").blobs(names), 2, lambda: None)
    found = merged(extraction.tasks(names))
    return found[:: max(1, len(found) // most)][:most]


def collected(tasks: list[CollectedTask], work: Path, per_task: int) -> tuple[list[Program], float]:
    """Programs as ``graph-net programs collect`` collects them, and the seconds it took."""
    began = time.perf_counter()
    found = list(Collection(work, Wanted(per_task), os.cpu_count() or 1).run(tasks))
    return found, time.perf_counter() - began


def fresh(programs: list[Program], tasks: list[CollectedTask]) -> float:
    """Seconds a program with a process for each."""
    by_hash = {task.workload.hash: task.workload for task in tasks}
    began = time.perf_counter()
    for program in programs:
        work = by_hash[program.task.workload]
        text = json.dumps({"workload": vars(work), "schedule": program.schedule})
        subprocess.run([sys.executable, "-c", FRESH], input=text, text=True, check=True)
    return (time.perf_counter() - began) / len(programs)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tasks", type=int, default=40)
    options.add_argument("--per-task", type=int, default=16)
    options.add_argument("--fresh", type=int, default=3, help="programs with a process each")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        tasks = tasks_of(NETWORKS, work, given.tasks)
        found, took = collected(tasks, work, given.per_task)
        good = [program for program in found if program.failure is None]
        alone = fresh(good[:: max(1, len(good) // given.fresh)][: given.fresh], tasks)
    each = took / len(found)
    rows = [
        ["forked from a warm process", f"{each:.2f}", f"{3600 / each:,.0f}", "1.0"],
        ["a fresh process each", f"{alone:.2f}", f"{3600 / alone:,.0f}", f"{alone / each:.1f}"],
    ]
    header = ("trials", "seconds each", "an hour", "ratio")
    show(f"{len(found)} programs of {len(tasks)} tasks of {len(NETWORKS)} networks", header, rows)
    ends = Counter(f"{p.failure.stage} {p.failure.symptom}" for p in found if p.failure)
    console.print("failed: " + (", ".join(f"{n} {why}" for why, n in ends.items()) or "none"))
    return 0 if verdict(3600 / each >= LEAST, f"at least {LEAST:,} programs an hour") else 1


if __name__ == "__main__":
    sys.exit(main())
