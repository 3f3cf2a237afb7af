"""Progress of a collection: a line while it runs, a table at its end."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean, geometric_mean, median

from graph_net.programs.collection.outcome import extra_of
from graph_net.results import Program

SUCCESS = "success"


@dataclass
class TaskTally:
    """The programs of one task."""

    kernel: str
    programs: int = 0
    failed: int = 0
    best: float = math.inf
    torch: float | None = None
    """Seconds that eager torch takes for the same computation, if measured."""


@dataclass
class Tally:
    """Counts of measured programs."""

    outcomes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    """The message of one failure of each kind."""
    tasks: dict[str, TaskTally] = field(default_factory=dict)
    overtaken: int = 0
    """Programs whose times may include waiting for the host."""
    spent: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds of each step of measuring a program."""
    began: float = field(default_factory=time.monotonic)

    def add(self, program: Program) -> None:
        """Count a program."""
        extra = extra_of(program)
        if (task := self.tasks.get(program.task.workload)) is None:
            task = self.tasks[program.task.workload] = TaskTally(_kernel(program))
        task.programs += 1
        if "torch" in extra:
            task.torch = fmean(extra["torch"])
        self.overtaken += bool(extra.get("overtaken"))
        for step in ("compiled", "loaded"):
            if step in extra:
                self.spent[step].append(extra[step])
        self.spent["in all"].append(program.seconds or 0.0)
        failure = program.failure
        outcome = f"{failure.stage}: {failure.symptom}" if failure else SUCCESS
        self.outcomes[outcome] += 1
        if failure is None:
            task.best = min(task.best, fmean(program.costs))
        else:
            task.failed += 1
            self.examples.setdefault(outcome, f"{program.task.kernel}: {failure.message}")

    def line(self) -> str:
        """Return the counts and the rate so far."""
        taken, total = time.monotonic() - self.began, self.outcomes.total()
        rate, failed = total / max(taken, 1e-9), total - self.outcomes[SUCCESS]
        hourly = f"{rate:.1f} per second, {3600 * rate:,.0f} programs per hour"
        return f"{taken:.0f} s: {total} programs, {failed} failed, {hourly}"

    def table(self) -> str:
        """Return all counts as lines of text."""
        if not self.outcomes:
            return "nothing to measure: all programs have their outcomes"
        lines = [f"measured now: {self.line()}"]
        for outcome, count in self.outcomes.most_common():
            example = f"  such as {self.examples[outcome]}"[:240] if outcome != SUCCESS else ""
            lines.append(f"  {outcome:<32}{count:>8}{example}")
        for step, values in self.spent.items():
            lines.append(f"  seconds {step}: median {median(values):.3f}, most {max(values):.3f}")
        if self.overtaken:
            lines.append(f"overtaken: {self.overtaken} programs, marked in extra")
        return "\n".join([*lines, *self._against_torch()])

    def _against_torch(self) -> Iterator[str]:
        """Yield a row for each kernel whose best programs can be compared with torch's."""
        kernels = defaultdict(list)
        for task in self.tasks.values():
            if task.torch is not None and task.best < math.inf:
                kernels[task.kernel].append(task)
        if kernels:
            yield f"{'kernel':<16}{'tasks':>8}{'programs':>10}{'failed':>8}{'torch/best':>12}"
        for kernel, tasks in sorted(kernels.items()):
            ratio = geometric_mean((task.torch or 0.0) / task.best for task in tasks)
            programs, failed = (sum(getattr(t, n) for t in tasks) for n in ("programs", "failed"))
            yield f"{kernel:<16}{len(tasks):>8}{programs:>10}{failed:>8}{ratio:>12.2f}"


def _kernel(program: Program) -> str:
    """Return the kind of a task's kernel if its module names one; else the task's own name."""
    module = json.loads(program.task.details or "{}").get("module")
    kernel = module.get("kernel") if isinstance(module, dict) else None
    return str(kernel or program.task.kernel)
