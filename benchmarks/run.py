"""Runs every benchmark and leaves one report: what was claimed, what was measured.

``make benchmarks`` calls this. Each benchmark is a program of its own and can be run alone with
more repeats: ``python -m benchmarks.reading --repeats 20``.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from rich.console import Console

BENCHMARKS = {
    "startup": [],
    "tensors": ["--gigabytes", "1.0"],
    "reading": [],
    "hashing": [],
    "compact": [],
    "decompose": [],
    "typical": [],
    "storage": [],
    "capture": [],
    "overhead": [],
    "cluster": ["--tasks", "5000"],
    "confinement": [],
    "honesty": [],
    "coverage": [],
    "placement": [],
    "contention": [],
    "scoring": [],
    "reading_records": [],
    "serve": [],
    "features": [],
    "cost_model_intervals": [],
    "cost_model_speed": [],
    "programs": [],
    "programs_at_scale": ["--sizes", "500000", "2000000"],
}
REPORT = Path("build/bench/report.md")


def main() -> int:
    console = Console()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        "# Benchmarks",
        "",
        f"`make benchmarks`, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}. Ratios are measured within one run; absolute times "
        "belong to this machine at this moment.",
    ]
    failed = []
    for name, options in BENCHMARKS.items():
        console.rule(name)
        command = [sys.executable, "-m", f"benchmarks.{name}", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        console.print(done.stdout, markup=False, highlight=False)
        parts += [
            "",
            f"## {name}",
            "",
            f"`python -m benchmarks.{name} {' '.join(options)}`".strip(),
        ]
        parts += ["", "```", done.stdout.rstrip(), "```"]
        if done.returncode:
            failed.append(name)
    REPORT.write_text("\n".join(parts) + "\n", "utf-8")
    console.rule("report")
    console.print(f"{len(BENCHMARKS) - len(failed)} of {len(BENCHMARKS)} hold; see {REPORT}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
