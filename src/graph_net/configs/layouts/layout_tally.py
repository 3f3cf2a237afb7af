"""Progress of a collection of layouts: a line while it runs, a table at its end."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median

from graph_net.results import Program


@dataclass
class LayoutTally:
    """Counts of results."""

    outcomes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    """The message of one failure of each kind."""
    ratios: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By graph, the time of each layout over the original's in the same turn."""
    noise: list[float] = field(default_factory=list)
    """Ratio of the original to itself, one number per result."""
    began: float = field(default_factory=time.monotonic)

    @property
    def total(self) -> int:
        """Number of all results."""
        return self.outcomes.total()

    @property
    def measured(self) -> int:
        """Number of results with times."""
        return sum(map(len, self.ratios.values()))

    def add(self, program: Program) -> None:
        """Count a result."""
        extra = json.loads(program.extra or "{}")
        failure = program.failure
        outcome = f"{failure.stage}: {failure.symptom}" if failure else "success"
        self.outcomes[outcome] += 1
        if failure is not None:
            self.examples.setdefault(outcome, f"{program.task.kernel}: {failure.message}")
            return
        control = median(extra["control"])
        self.ratios[program.task.kernel].append(median(program.costs) / control)
        self.noise.append(abs(math.log(median(extra["second"]) / control)))

    def line(self) -> str:
        """Return the counts and the rate so far."""
        taken = time.monotonic() - self.began
        graphs = len(self.ratios)
        rate = self.total / max(taken, 1e-9)
        failed = self.total - self.measured
        return (
            f"{taken:.0f} s: {self.total} layouts of {graphs} graphs, {failed} failed, {rate:.1f}/s"
        )

    def table(self) -> str:
        """Return all counts as lines of text."""
        if not self.total:
            return "nothing to measure: all layouts have their results, or there was no time"
        lines = [f"measured now: {self.line()}"]
        for outcome, count in self.outcomes.most_common():
            example = f"  such as {self.examples[outcome]}"[:200] if outcome != "success" else ""
            lines.append(f"  {outcome:<32}{count:>8}{example}")
        if self.noise:
            typical = 100 * median(self.noise)
            lines.append(f"the original differs from itself by {typical:.2f} % (median of turns)")
            best = sorted(min(found) for found in self.ratios.values())
            quicker = sum(one < 0.98 for one in best)
            lines.append(
                f"best layout over the original: median {median(best):.3f}, least {best[0]:.3f}; "
                f"under 0.98 for {quicker} of {len(best)} graphs"
            )
        return "\n".join(lines)
