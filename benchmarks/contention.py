"""Do two trials of one program agree? Programs in forked trials, with the gauge and without.

    python -m benchmarks.contention

On a virtual machine somebody else may have the other thread of a physical core, for tens of
milliseconds at a time, and no counter shows it. Every program is tried in turns, so that the trials
of one lie seconds apart. Claim: two trials of a program that the gauge did not find shared differ
by 5 % at most, in the median over all pairs of trials of all programs; beside it the same without
the gauge.
"""

from __future__ import annotations

import argparse
import statistics
from itertools import combinations, islice
from typing import Any

from benchmarks.common import show, verdict
from benchmarks.placement import LIMITS, matmul
from graph_net.isolate.call import call
from graph_net.measure.placement import Placement
from graph_net.programs.spaces import tvm_gauge
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, cores

AGREE = 0.05
Trial = tuple[float, bool]
"""The median of a trial's runs, and whether its cores were shared."""


def trial(space: MetaScheduleSpace, schedule: str, repeats: int, gauged: bool) -> Trial:
    """Time a program in a process of its own."""

    def work() -> Any:
        placement = Placement(cores())
        if not gauged:
            tvm_gauge.forget()
        built = space.build(schedule)
        built.start_threads()
        with placement:
            return [built.times(repeats), bool(built.remarks.get("shared"))]

    costs, shared = call(work, LIMITS)
    return statistics.median(costs), shared


def differences(trials: list[Trial]) -> list[float]:
    """Return by how much each two trials differ, of the quicker; shared ones are left out."""
    free = [seconds for seconds, shared in trials if not shared]
    return [max(pair) / min(pair) - 1 for pair in combinations(free, 2)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=6)
    options.add_argument("--repeats", type=int, default=8)
    options.add_argument("--programs", type=int, default=6, help="of each size")
    options.add_argument("--sizes", type=int, nargs="+", default=[128, 320, 512])
    given = options.parse_args()
    spaces = [matmul(size) for size in given.sizes]
    programs = [
        (s, schedule) for s in spaces for schedule in islice(s.sample(64, 1), given.programs)
    ]
    tvm_gauge.calibrate()
    found: dict[tuple[int, bool], list[Trial]] = {}
    for _ in range(given.trials):
        for number, (space, schedule) in enumerate(programs):
            for gauged in (True, False):
                measured = trial(space, schedule, given.repeats, gauged)
                found.setdefault((number, gauged), []).append(measured)
    rows, medians = [], {}
    for gauged, name in ((False, "without"), (True, "with the gauge")):
        trials = {number: one for (number, kind), one in found.items() if kind == gauged}
        pairs = sorted(one for taken in trials.values() for one in differences(taken))
        shared = sum(is_shared for taken in trials.values() for _, is_shared in taken)
        medians[gauged] = statistics.median(pairs)
        worst = statistics.quantiles(pairs, n=10)[-1]
        total = sum(map(len, trials.values()))
        rows.append([name, f"{medians[gauged]:.1%}", f"{worst:.1%}", f"{shared} of {total}"])
    title = f"{len(programs)} programs, {given.trials} trials each way, {cores()} cores"
    show(title, ("trials", "pairs differ by", "one in ten by", "found shared"), rows)
    text = f"pairs differ by {medians[True]:.1%} with the gauge, {medians[False]:.1%} without"
    return int(not verdict(medians[True] <= AGREE, text))


if __name__ == "__main__":
    raise SystemExit(main())
