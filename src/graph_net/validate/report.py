"""What a validation says of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class Requirement(Enum):
    """What GraphNet's paper asks of a sample."""

    RUNNABLE = "runnable"
    SERIALISABLE = "serialisable"
    DECOMPOSABLE = "decomposable"
    ANALYSABLE = "analysable"
    ACCESSIBLE = "accessible"


class State(Enum):
    """How a requirement was met. ``FAKE``: on tensors without values, no more was asked for."""

    PASSED = "passed"
    FAKE = "fake"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """Whether one requirement is met, and if it is not, why."""

    requirement: Requirement
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """All that was found of one graph.

    ``difference`` is the largest one between the stored graph's outputs and those of its re-capture
    and of its pieces, on the same tensors, in parts of the largest output value; None where
    nothing was run on values. ``model_difference`` is that to the model itself.
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
        """Whether every requirement is met, and the model agrees where it was asked."""
        whole = {finding.requirement for finding in self.findings} == set(Requirement)
        return whole and not self.failures and not self.model_reason

    def state(self, requirement: Requirement) -> State:
        """How one requirement was met."""
        return next(f.state for f in self.findings if f.requirement is requirement)

    def as_json(self) -> dict[str, Any]:
        """The verdict for other programs."""
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
    """The verdict that ``as_json`` wrote."""
    reasons = tree["reasons"]
    findings = tuple(
        RequirementResult(r, State(tree[r.value]), reasons.get(r.value, ""))
        for r in Requirement
        if r.value in tree
    )
    words = "name structure difference model_difference model_reason flops seconds redundant_with"
    plain = {word: tree[word] for word in words.split()}
    return ValidationReport(findings=findings, notes=tuple(tree["notes"]), **plain)


def with_redundancy(
    verdicts: Iterable[ValidationReport], known: Mapping[str, str] | None = None
) -> list[ValidationReport]:
    """The verdicts by name, each with the first graph that has its structure, if there is one.

    ``known`` gives names for structures that graphs elsewhere have.
    """
    first = dict(known or {})
    told = []
    for verdict in sorted(verdicts, key=lambda v: v.name):
        other = first.setdefault(verdict.structure, verdict.name) if verdict.structure else ""
        told.append(replace(verdict, redundant_with="" if other == verdict.name else other))
    return told
