"""What a command costs before it does anything: processor time beside that of what it needs.

The baseline of ``--help`` is a Python that imports typer and what draws its help; that of ``list``
one that imports the Parquet reader besides and reads the same columns. Claims: ``--help`` takes at
most 1.5 times its baseline, ``list | head`` of the whole corpus at most 3 times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

from benchmarks.common import show, verdict
from graph_net.corpus.shipped import shipped_corpus

MOST = {"--help": 1.5, "list | head": 3.0}
DRAWN = "import typer, typer.rich_utils"
READ = f"""
{DRAWN}
import glob, pyarrow.parquet as pq
for part in glob.glob({str(shipped_corpus())!r} + "/part-*.parquet"):
    pq.ParquetFile(part).read(columns=["name", "category", "level", "nodes"]).to_pylist()
"""


def commands() -> dict[str, list[str]]:
    ours = [sys.executable, "-m", "graph_net.cli.main"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "what --help needs": [sys.executable, "-c", DRAWN],
        "--help": [*ours, "--help"],
        "what list needs": [sys.executable, "-c", READ],
        "list | head": [*ours, "list"],
    }


def processor_seconds(command: list[str]) -> float:
    """The processor time of a command of whose output ten lines are read."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    for _ in range(10):
        child.stdout.readline()
    child.stdout.close()
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    return used.ru_utime + used.ru_stime


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    every = commands()
    times: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(given.repeats):
        for name, command in every.items():
            times[name].append(processor_seconds(command))
    took = {name: statistics.median(found) for name, found in times.items()}
    bare = took["python -c pass"]
    rows = [[name, f"{found:.3f}", f"{found / bare:.1f}"] for name, found in took.items()]
    show("processor time", ("command", "s", "× python -c pass"), rows)
    ratios = {
        "--help": took["--help"] / took["what --help needs"],
        "list | head": took["list | head"] / took["what list needs"],
    }
    held = [
        verdict(ratio <= MOST[name], f"{name} takes {ratio:.2f} × what it needs, ≤ {MOST[name]}")
        for name, ratio in ratios.items()
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
