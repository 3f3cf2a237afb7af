"""Is a program's time a coin flip? One program in many forked trials, threads placed and not.

TVM binds its workers to cores and leaves the calling thread to the kernel. Where both are on one
core every run of that process takes about twice as long. Claim: with every thread on a core of its
own no trial takes 1.5 × as long as the quickest, and four fifths of them lie at least 1.3 × closer
together than those of the same program without placement, taken in turns with them.
"""

from __future__ import annotations

import argparse
import math
import statistics
from contextlib import nullcontext
from typing import Any

from benchmarks.common import console, show, verdict
from graph_net.compilers.tvm_ready import load_intrinsics
from graph_net.isolate import Limits
from graph_net.isolate.call import call
from graph_net.measure.placement import Placement
from graph_net.programs.spaces.metaschedule import MetaScheduleSpace, cores, workload_of

SECOND_MODE, CLOSER = 1.5, 1.3
LIMITS = Limits(120, 8 << 30)
BAR = 50


def matmul(size: int) -> MetaScheduleSpace:
    """The space of a product of two square matrices."""
    import tvm
    from tvm import te

    load_intrinsics()
    first, second = (te.placeholder((size, size), name=name) for name in "AB")
    k = te.reduce_axis((0, size), "k")
    product = te.compute(
        (size, size), lambda i, j: te.sum(first[i, k] * second[k, j], axis=k), name="C"
    )
    module = tvm.IRModule({"main": te.create_prim_func([first, second, product])})
    return MetaScheduleSpace(workload_of(module, "matmul"))


def parallel(space: MetaScheduleSpace) -> str:
    """The first schedule drawn that uses several threads."""
    return next(s for s in space.sample(64, 0) if "parallel" in str(space.schedule(s).mod))


def trial(space: MetaScheduleSpace, schedule: str, repeats: int, placed: bool) -> float:
    """Seconds of a run in a process of its own: the tenth percentile, as others use the cores."""

    def work() -> Any:
        placement = Placement(cores())
        built = space.build(schedule)
        built.start_threads()
        with placement if placed else nullcontext():
            return built.times(repeats)

    return float(statistics.quantiles(call(work, LIMITS), n=10)[0])


def drawn(times: list[float], low: float, high: float) -> str:
    """The times as a row of counts between two bounds, on a logarithmic scale."""
    counts = [0] * BAR
    for value in times:
        place = math.log(value / low) / math.log(high / low) if high > low else 0.0
        counts[min(BAR - 1, int(place * BAR))] += 1
    return "".join("·" if n == 0 else str(min(n, 9)) for n in counts)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=40)
    options.add_argument("--repeats", type=int, default=300)
    options.add_argument("--size", type=int, default=160)
    given = options.parse_args()
    space = matmul(given.size)
    schedule = parallel(space)
    found: dict[bool, list[float]] = {False: [], True: []}
    for number in range(given.trials):
        for placed in (False, True) if number % 2 else (True, False):
            found[placed].append(trial(space, schedule, given.repeats, placed))
    low, high = min(map(min, found.values())), max(map(max, found.values()))
    spread = {placed: _spread(times) for placed, times in found.items()}
    slow = {
        placed: sum(one > SECOND_MODE * low for one in times) for placed, times in found.items()
    }
    names = {False: "left to the kernel", True: "placed"}
    rows = [
        [names[placed], *(f"{1e3 * f(times):.3f}" for f in (min, statistics.median, max)),
         f"{spread[placed]:.2f} ×", f"{slow[placed]} of {len(times)}"]
        for placed, times in found.items()
    ]  # fmt: skip
    title = f"one program, {given.trials} trials each way in turns, {cores()} cores, ms a run"
    head = ("threads", "quickest", "median", "slowest", "p90 / p10", f"beyond {SECOND_MODE} ×")
    show(title, head, rows)
    for placed, times in found.items():
        console.print(f"{names[placed]:>18} |{drawn(times, low, high)}|", highlight=False)
    closer = spread[False] / spread[True]
    both = f"{slow[True]} placed trials in a second mode, {slow[False]} without placement"
    holds = [
        verdict(slow[True] == 0, both),
        verdict(closer >= CLOSER, f"placed trials lie {closer:.2f} × closer together"),
    ]
    return int(not all(holds))


def _spread(times: list[float]) -> float:
    """What four fifths of the trials differ by, at most: others use the cores too."""
    parts = statistics.quantiles(times, n=10)
    return parts[-1] / parts[0]


if __name__ == "__main__":
    raise SystemExit(main())
