"""How quiet a measurement on a GPU is while every core builds.

``graph-net bench --mini --limit 36 --device cuda --compilers inductor --seconds 1 --plan new.zip``
makes a bundle; ``python benchmarks/quiet.py new.zip`` runs it on the machine with the GPU, which
needs torch and numpy; several bundles (one of an older version, say) are run one after another.
Claim, for the last: at most 5 % of verdicts are ambiguous for noise, and the wall time a graph is
at most 1.3 × the first one's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MARGIN = 0.02
"""A speedup within this of 1 is no matter of noise: the protocol calls it undecided."""


def half_width(found: dict[str, float]) -> float:
    """Half the width of an interval, as a share of its value."""
    return (found["high"] - found["low"]) / (2 * found["value"])


def is_noisy(timing: dict[str, Any]) -> bool:
    """Whether nothing could be told for noise."""
    widest = max(half_width(timing["noise"]), half_width(timing["speedup"]))
    return timing["verdict"] == "ambiguous" and widest > MARGIN


def run(bundle: Path, budget: float) -> tuple[float, list[dict[str, Any]]]:
    """Seconds of a bundle, and its records."""
    records = bundle.with_suffix(".jsonl")
    records.unlink(missing_ok=True)
    start = time.perf_counter()
    command = [sys.executable, str(bundle), "-o", str(records), "--budget", str(budget)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took = time.perf_counter() - start
    return took, [json.loads(line) for line in records.read_text("utf-8").splitlines()]


def row(bundle: Path, budget: float) -> tuple[float, float]:
    """Print what a bundle gave; seconds a graph, and the part that is ambiguous for noise."""
    took, records = run(bundle, budget)
    timings = [record["timing"] for record in records if record["failure"] is None]
    noisy = sum(map(is_noisy, timings))
    undecided = sum(timing["verdict"] == "ambiguous" for timing in timings)
    again = sum("noisy_at_first" in record["environment"] for record in records)
    width = statistics.median(half_width(timing["noise"]) for timing in timings)
    print(
        f"{bundle.stem}: {len(records)} graphs in {took:.0f} s, {took / len(records):.2f} s each;"
        f" {len(timings)} measured, {undecided} ambiguous, {noisy} of them for noise;"
        f" control ± {width:.2%} (median); {again} measured again",
        flush=True,
    )
    for record in records:
        if record["failure"] is not None:
            failure = record["failure"]
            print(f"  {record['subject']['name']}: {failure['symptom']} {failure['message'][:120]}")
    return took / len(records), noisy / len(timings)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bundles", type=Path, nargs="+")
    options.add_argument("--budget", type=float, default=240.0)
    given = options.parse_args()
    rows = [row(bundle, given.budget) for bundle in given.bundles]
    (first, _), (last, noisy) = rows[0], rows[-1]
    quiet, quick = noisy <= 0.05, last <= 1.3 * first
    print(f"{'holds' if quiet else 'FAILS'}: {noisy:.0%} ambiguous for noise, at most 5 %")
    print(f"{'holds' if quick else 'FAILS'}: {last / first:.2f} × the time a graph, at most 1.3 ×")
    return 0 if quiet and quick else 1


if __name__ == "__main__":
    sys.exit(main())
