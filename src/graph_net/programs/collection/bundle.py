"""A bundle: tasks and the collector in one file, for a bare machine with a GPU.

``python BUNDLE.zip -o programs.jsonl.gz`` measures there with torch, triton and numpy alone; the
same command again continues the file, and ``graph-net ingest`` takes it in.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from graph_net.printable import printable
from graph_net.programs.collection.collect import Collection
from graph_net.programs.collection.plan import Wanted
from graph_net.programs.collection.tally import SUCCESS, Tally
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.triton.cuda_bench import open_cuda_bench
from graph_net.results import read_as
from graph_net.store.bundle import read_member, write_sources

PACKAGES = ("isolate", "results", "programs/triton")
MODULES = (
    "__init__.py",
    "printable.py",
    *(f"store/{name}.py" for name in "__init__ atomic bundle files journal lines".split()),
    "programs/__init__.py",
    *(f"programs/spaces/{name}.py" for name in ("__init__", "registry", "space")),
    *(
        f"programs/collection/{name}.py"
        for name in "__init__ bench bundle collect journal outcome plan tally task".split()
    ),
)
PLAN = "plan.json"
MOST_PLAN = 64 << 20
"""Largest size of a plan in bytes; a task takes a few hundred bytes."""
RESERVE = 4.0
"""Seconds before the deadline at which measuring stops, so that processes can shut down."""
EVERY = 20.0
"""Seconds between progress lines."""


@dataclass(frozen=True)
class ProgramsPlan:
    """The tasks that a bundle measures, and how many programs of each."""

    tasks: tuple[CollectedTask, ...]
    wanted: Wanted


def write_bundle(path: Path, tasks: Sequence[CollectedTask], wanted: Wanted) -> None:
    """Write a bundle that collects programs of tasks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        write_sources(bundle, __name__, PACKAGES, MODULES)
        bundle.writestr(PLAN, json.dumps(asdict(ProgramsPlan(tuple(tasks), wanted))))


def read_plan(path: str | Path) -> ProgramsPlan:
    """Return the plan of a bundle; raise ValueError if it has no valid plan."""
    with zipfile.ZipFile(path) as bundle:
        plan = read_as(ProgramsPlan, read_member(bundle, PLAN, MOST_PLAN), "plan")
    if not plan.tasks:
        raise ValueError(f"{path} holds no task")
    return plan


def main(bundle: str, arguments: Sequence[str] | None = None) -> int:
    """Collect the programs of a bundle; return 0, or 2 if nothing could be measured."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(prog="python BUNDLE", description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("programs.jsonl.gz"))
    parser.add_argument("-j", "--jobs", type=int, default=0, help="compilers; 0: all cores but two")
    parser.add_argument("--seconds", type=float, default=540.0, help="end after this long")
    options = parser.parse_args(arguments)
    try:
        tally = collect(read_plan(bundle), options.output, options.jobs, began + options.seconds)
    except (OSError, ValueError) as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    print(tally.table(), flush=True)
    return 0 if tally.outcomes[SUCCESS] or not tally.outcomes else 2


def collect(plan: ProgramsPlan, output: Path, jobs: int, until: float) -> Tally:
    """Measure the programs missing from a file, and print progress every EVERY seconds."""
    tally, shown = Tally(), time.monotonic()
    with open_cuda_bench(plan.tasks[0].workload, jobs) as bench:
        collection = Collection(output, plan.wanted, bench)
        require_target(collection, bench.target)
        print(
            f"{bench.device.name}, {dict(bench.device.software)}; {len(plan.tasks)} tasks",
            flush=True,
        )
        for program in collection.run(plan.tasks, until - RESERVE):
            tally.add(program)
            if time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                print(tally.line(), flush=True)
        for why in collection.lost:
            print(printable(why), file=sys.stderr)
    return tally


def require_target(collection: Collection, target: str) -> None:
    """Raise ValueError if the file holds programs for another GPU, whose times do not compare."""
    others = collection.journal.targets - {target}
    if others:
        path = collection.journal.path
        raise ValueError(f"{path} has programs for {others.pop()}, not {target}: name another -o")
