"""The report of a graph's validation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class Requirement(Enum):
    """A requirement of GraphNet's paper for a sample."""

    RUNNABLE = "runnable"
    SERIALISABLE = "serialisable"
    DECOMPOSABLE = "decomposable"
    ANALYSABLE = "analysable"
    ACCESSIBLE = "accessible"


class State(Enum):
    """How a requirement was met. ``FAKE``: checked on fake tensors only."""

    PASSED = "passed"
    FAKE = "fake"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """Whether one requirement is met, and why not."""

    requirement: Requirement
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The findings about one graph.

    ``difference`` is the largest difference between the stored graph's outputs and those of its
    re-capture and of its pieces, on the same tensors, relative to the largest output value; None if
    nothing was run on values. ``model_difference`` is the difference from the model itself.
    """

    name: str
    structure: str = ""
    findings: tuple[RequirementResult, ...] = ()
    difference: float | None = None
    model_difference: float | None = None
    model_reason: str = ""
    notes: tuple[str, ...] = ()
    flops: int | None = None
    seconds: float = 0.0
    redundant_with: str = ""

    @property
    def failures(self) -> tuple[RequirementResult, ...]:
        """The requirements that are not met."""
        return tuple(f for f in self.findings if f.state is State.FAILED)

    @property
    def ok(self) -> bool:
        """Whether every requirement is met, and the model agrees if it was compared."""
        whole = {finding.requirement for finding in self.findings} == set(Requirement)
        return whole and not self.failures and not self.model_reason

    def state(self, requirement: Requirement) -> State:
        """Return how one requirement was met."""
        return next(f.state for f in self.findings if f.requirement is requirement)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict for other programs."""
        return {
            "name": self.name,
            "ok": self.ok,
            "structure": self.structure,
            **{f.requirement.value: f.state.value for f in self.findings},
            "reasons": {f.requirement.value: f.reason for f in self.findings if f.reason},
            "difference": self.difference,
            "model_difference": self.model_difference,
            "model_reason": self.model_reason,
            "notes": list(self.notes),
            "flops": self.flops,
            "seconds": round(self.seconds, 3),
            "redundant_with": self.redundant_with,
        }


def verdict_from_json(tree: Mapping[str, Any]) -> ValidationReport:
    """Return the verdict that ``as_json`` wrote."""
    reasons = tree["reasons"]
    findings = tuple(
        RequirementResult(r, State(tree[r.value]), reasons.get(r.value, ""))
        for r in Requirement
        if r.value in tree
    )
    names = "name structure difference model_difference model_reason flops seconds redundant_with"
    fields = {name: tree[name] for name in names.split()}
    return ValidationReport(findings=findings, notes=tuple(tree["notes"]), **fields)


def mark_redundant(
    verdicts: Iterable[ValidationReport], known: Mapping[str, str] | None = None
) -> list[ValidationReport]:
    """Return the verdicts by name, each with the first other graph of its structure, if any.

    ``known`` maps structures of graphs elsewhere to their names.
    """
    first = dict(known or {})
    marked = []
    for verdict in sorted(verdicts, key=lambda v: v.name):
        other = first.setdefault(verdict.structure, verdict.name) if verdict.structure else ""
        marked.append(replace(verdict, redundant_with="" if other == verdict.name else other))
    return marked
