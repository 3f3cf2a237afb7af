"""Can a verdict be trusted? Eager against itself, and a planted slowdown, beside a burning core.

Claims: of at least 300 pairs of equal functions at most 1 % get a verdict other than same or
ambiguous (timing the same pairs one after the other is shown beside it); a slowdown of 5 % in a
function of 5 ms is found at least 95 % of the time within the default budget.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from benchmarks.common import show, verdict
from graph_net.measure.protocol import Protocol
from graph_net.measure.timing import CpuClock, time_arms
from graph_net.results import Verdict

BURN = """
import time
while True:
    end = time.monotonic() + 0.25
    while time.monotonic() < end:
        pass
    time.sleep(0.25)
"""


@contextmanager
def burning() -> Iterator[None]:
    """A second process that keeps one core busy half of the time."""
    process = subprocess.Popen([sys.executable, "-c", BURN])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def equal_functions() -> list[Callable[[], object]]:
    """Small functions of some tenths of a millisecond, bound by arithmetic and by memory."""
    matrix, vector, image = torch.randn(160, 160), torch.randn(1 << 17), torch.randn(1, 8, 48, 48)
    weight = torch.randn(8, 8, 3, 3)
    return [
        lambda: matrix @ matrix,
        lambda: torch.sin(vector),
        lambda: torch.nn.functional.conv2d(image, weight),
        lambda: torch.softmax(vector.view(256, 512), 1),
    ]


def repeated(times: int) -> Callable[[], None]:
    vector = torch.randn(1 << 14)

    def run() -> None:
        for _ in range(times):
            torch.sin(vector)

    return run


def planted() -> tuple[Callable[[], None], Callable[[], None], float]:
    """A function of about 5 ms, the same with 5 % more work, and how much more exactly."""
    probe = repeated(100)
    probe()
    best = min(_seconds(probe) for _ in range(20))
    times = max(20, round(100 * 5e-3 / best))
    more = times + max(1, round(times * 0.05))
    return repeated(times), repeated(more), more / times - 1


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def one_after_the_other(call: Callable[[], object], samples: int) -> bool:
    """Whether a rank test on two blocks of samples calls a function different from itself."""
    call()
    first = [_seconds(call) for _ in range(samples)]
    second = [_seconds(call) for _ in range(samples)]
    return rank_test(first, second)


def rank_test(first: list[float], second: list[float]) -> bool:
    """Mann-Whitney at 5 %, by the normal approximation."""
    ordered = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks = sum(place + 1 for place, (_, who) in enumerate(ordered) if who == 0)
    n, m = len(first), len(second)
    mean = n * (n + m + 1) / 2
    spread = (n * m * (n + m + 1) / 12) ** 0.5
    return bool(abs(ranks - mean) / spread > statistics.NormalDist().inv_cdf(0.975))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=300)
    options.add_argument("--slowdowns", type=int, default=60)
    given = options.parse_args()
    torch.set_num_threads(1)
    functions = equal_functions()
    found: Counter[Verdict] = Counter()
    apart = 0
    slow: Counter[Verdict] = Counter()
    spent: list[float] = []
    with burning():
        for pair in range(given.pairs):
            call = functions[pair % len(functions)]
            timing, _ = time_arms(call, call, replace(Protocol(), seed=pair), CpuClock())
            found[timing.verdict] += 1
            apart += one_after_the_other(call, 40)
        base, more, exactly = planted()
        for number in range(given.slowdowns):
            began = time.monotonic()
            timing, _ = time_arms(base, more, replace(Protocol(), seed=number), CpuClock())
            spent.append(time.monotonic() - began)
            slow[timing.verdict] += 1
    wrong = found[Verdict.FASTER] + found[Verdict.SLOWER]
    rows = [
        ["interleaved, control, margin", *(str(found[v]) for v in Verdict)],
        ["one after the other, rank test", f"{apart} called different", "", "", ""],
        [f"planted: {exactly:.1%} slower", *(str(slow[v]) for v in Verdict)],
    ]
    show(f"{given.pairs} equal pairs, {given.slowdowns} slowdowns, one core half busy",
         ("timing", *Verdict), rows)  # fmt: skip
    caught = slow[Verdict.SLOWER] / given.slowdowns
    holds = [
        verdict(wrong <= 0.01 * given.pairs, f"{wrong} of {given.pairs} equal pairs told apart"),
        verdict(
            caught >= 0.95,
            f"{caught:.0%} of the slowdowns found, {statistics.median(spent):.1f} s each",
        ),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
