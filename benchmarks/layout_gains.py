"""What `graph-net layout` gains on graphs of the corpus: the proven speed-up of each, or none.

    python -m benchmarks.layout_gains run --learn-from dataset/layouts/cpu -o docs/studies/cpu

Or in three steps, of which the second needs torch, numpy and the standard library alone:

    python -m benchmarks.layout_gains prepare --device cuda --learn-from dataset/layouts/h200
    python -m benchmarks.layout_gains measure build/layout-gains --device cuda --jobs-at-once 3
    python -m benchmarks.layout_gains report build/layout-gains/results.jsonl -o docs/studies/h200

Graphs come from all categories in turn, as in a collection; with ``--learn-from`` they are graphs
of the collection, and layouts are ranked by what was learned from the graphs of other families.
Otherwise they are ranked by the bytes they move. The winner is timed anew against the original,
with the original as control, and counts only if it is faster with 99 % confidence. Each result is
appended to a file: killed, the same command goes on.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

GRAPHS, PREDICTORS = 24, 6
WORK = Path("build/layout-gains")


def main() -> None:
    """Do one step, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    steps = parser.add_subparsers(dest="step", required=True)
    for step in ("prepare", "measure", "report", "run"):
        _add_options(steps.add_parser(step), step)
    chosen, began = parser.parse_args(), time.monotonic()
    if chosen.step in ("prepare", "run"):
        from benchmarks.layout_gains_prepare import prepare

        prepare(chosen)
    if chosen.step in ("measure", "run"):
        from benchmarks.layout_gains_measure import RESULTS, measure

        chosen.results = chosen.results or chosen.work / RESULTS
        measure(chosen, began)
    if chosen.step in ("report", "run"):
        from benchmarks.layout_gains_report import report

        print(report(chosen.results, chosen.output))


def _add_options(parser: argparse.ArgumentParser, step: str) -> None:
    """Add the options of a step; ``run`` has those of all."""
    if step != "report":
        parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    if step == "prepare":
        parser.add_argument("-o", "--work", type=Path, default=WORK)
    elif step == "measure":
        parser.add_argument("work", type=Path)
    elif step == "report":
        parser.add_argument("results", type=Path)
    else:
        parser.add_argument("--work", type=Path, default=WORK)
    if step in ("report", "run"):
        parser.add_argument("-o", "--output", type=Path, default=Path("build/studies"))
    if step in ("prepare", "run"):
        parser.add_argument("--graphs", type=int, default=GRAPHS)
        parser.add_argument("--where", default="", help="which graphs of the corpus, in SQL")
        parser.add_argument("--learn-from", type=Path, help="a collection on this device")
        parser.add_argument(
            "--predictors", type=int, default=PREDICTORS,
            help="each is learned without the families of its share of the graphs",
        )  # fmt: skip
    if step in ("measure", "run"):
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--jobs-at-once", type=int, default=1, help="searches side by side")
        parser.add_argument("--jobs", type=int, default=0, help="processes that rewrite, of each")
        parser.add_argument("--prove-seconds", type=float, default=5.0)
        parser.add_argument("--seconds", type=float, default=math.inf, help="end after this long")
        parser.add_argument("--results", type=Path, help="lines of JSON; by default in WORK")


if __name__ == "__main__":
    main()
