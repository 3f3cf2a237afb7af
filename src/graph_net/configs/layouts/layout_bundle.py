"""A bundle: graphs and the collector of layouts in one file, for a bare machine.

``python BUNDLE.zip -o layouts.jsonl.gz`` measures there with torch, numpy and the standard library;
the same command again continues the file, and ``graph-net ingest`` takes it in.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from graph_net.configs.layouts.layout_collection import open_layout_bench, sort_graphs
from graph_net.configs.layouts.layout_tally import LayoutTally
from graph_net.configs.layouts.plan import GivenLayout, LayoutsWanted, LayoutTask
from graph_net.graph import DEFAULT_LIMITS
from graph_net.printable import printable
from graph_net.results import Subject, read_as
from graph_net.store.bundle import read_member, write_sources

PACKAGES = ("isolate", "graph", "results", "rewrite", "compilers", "measure", "configs/layouts")
MODULES = (
    "__init__.py",
    "printable.py",
    "user_file.py",
    *(
        f"store/{name}.py"
        for name in "__init__ atomic bundle counting files journal lines record_journal".split()
    ),
    *(f"configs/{name}.py" for name in "__init__ config_graph layout_codes".split()),
)
PLAN = "plan.json"
MOST_PLAN = 64 << 20
RESERVE = 8.0
"""Seconds before the deadline at which measuring stops, so that processes can shut down."""
EVERY = 20.0
"""Seconds between progress lines."""


@dataclass(frozen=True)
class LayoutPlan:
    """The graphs and settings of a bundle's collection."""

    subjects: tuple[Subject, ...]
    wanted: LayoutsWanted
    device: str
    to_measure: tuple[tuple[GivenLayout, ...], ...]
    """The layouts of each graph; none where they are drawn."""


def write_layout_bundle(
    path: Path, tasks: Sequence[LayoutTask], wanted: LayoutsWanted, device: str
) -> None:
    """Write a bundle that collects layouts of graphs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        write_sources(bundle, __name__, PACKAGES, MODULES)
        for number, task in enumerate(tasks):
            bundle.writestr(f"graphs/{number}", task.graph)
        to_measure = tuple(task.to_measure for task in tasks)
        plan = LayoutPlan(tuple(task.subject for task in tasks), wanted, device, to_measure)
        bundle.writestr(PLAN, json.dumps(asdict(plan)))


def read_layout_plan(path: str | Path) -> tuple[LayoutPlan, list[LayoutTask]]:
    """Return the plan and the graphs of a bundle; raise ValueError if it is not a bundle."""
    with zipfile.ZipFile(path) as bundle:
        plan = read_as(LayoutPlan, read_member(bundle, PLAN, MOST_PLAN), "plan")
        graphs = [
            read_member(bundle, f"graphs/{number}", DEFAULT_LIMITS.bytes)
            for number in range(len(plan.subjects))
        ]
    tasks = [LayoutTask(*one) for one in zip(plan.subjects, graphs, plan.to_measure, strict=True)]
    return plan, tasks


def main(bundle: str, arguments: Sequence[str] | None = None) -> int:
    """Collect the layouts of a bundle; return 0, or 2 if nothing could be measured."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(prog="python BUNDLE", description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("layouts.jsonl.gz"))
    parser.add_argument("-j", "--jobs", type=int, default=0, help="that rewrite; 0: cores but two")
    parser.add_argument("--seconds", type=float, default=540.0, help="end after this long")
    options = parser.parse_args(arguments)
    try:
        plan, tasks = read_layout_plan(bundle)
        tally = collect(plan, tasks, options.output, options.jobs, began + options.seconds)
    except (OSError, ValueError, RuntimeError) as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    print(tally.table(), flush=True)
    return 0 if tally.measured or not tally.total else 2


def collect(
    plan: LayoutPlan, tasks: Sequence[LayoutTask], output: Path, jobs: int, until: float
) -> LayoutTally:
    """Measure the layouts missing from a file, and print progress every EVERY seconds."""
    graphs, tally, shown = sort_graphs(tasks), LayoutTally(), time.monotonic()
    for why in graphs.refused:
        print(printable(f"left out: {why}"), file=sys.stderr)
    with open_layout_bench(
        graphs, plan.wanted, output, plan.device, jobs, until - RESERVE
    ) as bench:
        categories = Counter(task.subject.category for task in graphs.tasks)
        print(f"{bench.device.name}: {len(graphs.tasks)} graphs, {dict(categories)}", flush=True)
        for program in bench.run():
            tally.add(program)
            if time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                print(tally.line(), flush=True)
        for why in bench.lost:
            print(printable(f"left out: {why}"), file=sys.stderr)
    return tally
