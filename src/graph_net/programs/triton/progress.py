"""What a collection shows while it runs and at its end."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.target import H200
from graph_net.programs.triton.workloads import Collected
from graph_net.results import Failure

EVERY = 20.0
"""Seconds between lines of progress."""


@dataclass
class Tally:
    """Counts, and the best program of each workload."""

    works: Sequence[Collected]
    good: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    programs: Counter[int] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)
    best: dict[int, float] = field(default_factory=dict)
    torch: dict[int, float] = field(default_factory=dict)
    overtaken: int = 0
    """Programs whose times may count waiting for the host."""
    spent: dict[str, list[float]] = field(default_factory=dict)
    begin: float = field(default_factory=time.monotonic)
    shown: float = field(default_factory=time.monotonic)

    def baseline(self, place: int, cost: float) -> None:
        """Torch's time for a workload."""
        self.torch[place] = cost

    def program(
        self, place: int, outcome: list[float] | Failure, extra: dict[str, Any], seconds: float
    ) -> None:
        """Another program."""
        self.programs[place] += 1
        for what in ("compiled", "loaded"):
            if what in extra:
                self.spent.setdefault(what, []).append(extra[what])
        if isinstance(outcome, Failure):
            kind = f"{outcome.stage} {outcome.symptom}"
            self.failures[kind] += 1
            self.failed[place] += 1
            name = self.works[place].workload.name
            self.examples.setdefault(kind, f"{name}: {outcome.message}")
            return
        self.good += 1
        self.overtaken += bool(extra.get("overtaken"))
        self.spent.setdefault("measured", []).append(seconds)
        cost = statistics.fmean(outcome)
        self.best[place] = min(cost, self.best.get(place, cost))

    def progress(self, waiting: int) -> None:
        """A line every now and then."""
        if time.monotonic() - self.shown < EVERY:
            return
        self.shown = time.monotonic()
        print(f"{self._rate()}, {waiting} compiled and waiting", flush=True)

    def _rate(self) -> str:
        taken = time.monotonic() - self.begin
        total = self.good + sum(self.failures.values())
        rate = total / max(taken, 1e-9)
        return f"{taken:.0f} s: {total} programs, {total - self.good} failed, {rate:.1f} a second"

    def table(self) -> str:
        """All of it."""
        lines = [self._rate()]
        for what, values in self.spent.items():
            lines.append(f"{what}: median {statistics.median(values):.3f} s, max {max(values):.3f}")
        if self.overtaken:
            lines.append(f"overtaken: {self.overtaken} programs, marked in extra")
        for kind, count in self.failures.most_common():
            lines.append(f"failed: {count} {kind}, such as {self.examples[kind][:240]}")
        lines.append(f"{'kernel':<16}programs  failed  workloads  best  torch  torch/best")
        kernels = sorted({_kernel(work) for work in self.works})
        return "\n".join([*lines, *(self._row(kernel) for kernel in kernels)])

    def _row(self, kernel: str) -> str:
        places = [place for place, work in enumerate(self.works) if _kernel(work) == kernel]
        count, failed = (sum(of[p] for p in places) for of in (self.programs, self.failed))
        both = [p for p in places if p in self.best and p in self.torch]
        if not both:
            return f"{kernel:<16}{count:8d}{failed:8d}{len(places):11d}"
        amount, unit = _amounts(self.works, both)
        ours = max(a / self.best[p] for p, a in amount.items())
        theirs = max(a / self.torch[p] for p, a in amount.items())
        ratio = math.exp(statistics.fmean(math.log(self.torch[p] / self.best[p]) for p in both))
        rates = f"{ours / 1e12:6.1f} {theirs / 1e12:6.1f} {unit} {ratio:6.2f}"
        return f"{kernel:<16}{count:8d}{failed:8d}{len(places):11d} {rates}"


def _kernel(work: Collected) -> str:
    return str(TritonSpace(work.workload, H200.text).family.module["kernel"])


def _amounts(works: Sequence[Collected], places: list[int]) -> tuple[dict[int, float], str]:
    """What each workload does: operations of a product, bytes of anything else."""
    families = {place: TritonSpace(works[place].workload, H200.text).family for place in places}
    if all("epilogue" in family.module for family in families.values()):
        return {place: family.flops() for place, family in families.items()}, "TFLOP/s"
    return {place: family.bytes() for place, family in families.items()}, "TB/s"
