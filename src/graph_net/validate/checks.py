"""The checks of the five requirements on one graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from graph_net.graph import (
    Graph,
    GraphError,
    Level,
    Literal,
    Role,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from graph_net.graph.effects import changed_values
from graph_net.graph.execute import flat_outputs, interpret, make_input, make_inputs
from graph_net.graph.resolve import resolve
from graph_net.rewrite.compose import compose, run_context
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.split import split
from graph_net.validate.compare import largest_difference
from graph_net.validate.fake_run import Walk, walk
from graph_net.validate.recapture import normalize, recapture
from graph_net.validate.report import Requirement, RequirementResult, State, ValidationReport

PIECES = 4
"""The number of pieces a graph is cut into, at about its quarters."""


@dataclass(frozen=True, slots=True)
class ValidationLimits:
    """The largest graph that is run on values; a larger one is run on fake tensors only."""

    real_bytes: int = 200_000_000
    real_flops: int = 20_000_000_000


class Validation:
    """The validation of one graph; ``verdict`` holds the findings so far."""

    def __init__(self, name: str, graph: Graph, limits: ValidationLimits) -> None:
        self.stored = self.graph = graph
        self.limits = limits
        self.verdict = ValidationReport(name, graph.structure)
        self.walked: Walk | None = None
        self.inputs: list[Any] | None = None
        self.outputs: Any = None
        self.mutates = bool(changed_values(graph) & {entry.name for entry in graph.inputs})

    def run(self) -> ValidationReport:
        """Check all requirements, and return the verdict."""
        for _ in self.steps():
            pass
        return self.verdict

    def steps(self) -> Iterator[ValidationReport]:
        """Check all requirements; yield the verdict after each, since the next may be fatal."""
        start = time.monotonic()
        for requirement, check in (
            (Requirement.ACCESSIBLE, self._accessible),
            (Requirement.ANALYSABLE, self._analysable),
            (Requirement.RUNNABLE, self._runnable),
            (Requirement.SERIALISABLE, self._serialisable),
            (Requirement.DECOMPOSABLE, self._decomposable),
        ):
            try:
                finding = RequirementResult(requirement, check())
            except Exception as error:
                finding = RequirementResult(requirement, State.FAILED, describe_error(error))
            findings = (*self.verdict.findings, finding)
            seconds = time.monotonic() - start
            self.verdict = replace(self.verdict, findings=findings, seconds=seconds)
            yield self.verdict

    def _note(self, text: str) -> None:
        self.verdict = replace(self.verdict, notes=(*self.verdict.notes, text))

    def _accessible(self) -> State:
        for entry in self.graph.inputs:
            if entry.role is Role.CONSTANT and not isinstance(entry.recipe, Literal):
                self._note(f"the constant {entry.original or entry.name} is drawn from statistics")
        for target in sorted({node.target for node in self.graph.nodes}):
            resolve(target)
        return State.PASSED

    def _analysable(self) -> State:
        try:
            self.walked = walk(self.graph)
        except Exception as error:
            if self.graph.level is not Level.TORCH:
                raise
            # A size depends on a value: lowering computes it from the stored literals.
            self._note(f"checked as lowered: {describe_error(error)}")
            self.graph = to_aten(self.graph)
            self.walked = walk(self.graph)
        self.verdict = replace(self.verdict, flops=self.walked.flops)
        self.graph = self.walked.graph
        if self.walked.unknown:
            raise GraphError(f"unknown results: {_list_some(self.walked.unknown)}")
        if self.walked.disagreements:
            raise GraphError(_list_some(self.walked.disagreements))
        return State.PASSED

    def _need_walk(self) -> Walk:
        if self.walked is None:
            raise GraphError("it does not run on fake tensors; see analysable")
        return self.walked

    def _runnable(self) -> State:
        flops = self._need_walk().flops
        if self.graph.tensor_bytes > self.limits.real_bytes or flops > self.limits.real_flops:
            return State.FAKE
        self.inputs = make_inputs(self.graph)
        with run_context():
            self.outputs = interpret(self.graph, self._fresh(), torch.device("cpu"))
        tensors = [leaf for leaf in flat_outputs(self.outputs) if isinstance(leaf, torch.Tensor)]
        finite = [t.isfinite() for t in tensors if t.is_floating_point() and t.numel()]
        if finite and not any(bool(part.any()) for part in finite):
            # Equal NaNs prove nothing: the next checks run as if there were no values.
            self._note("its outputs are NaN or infinity throughout")
            self.inputs = self.outputs = None
            return State.FAKE
        if not all(bool(part.all()) for part in finite):
            self._note("an output has NaN or infinity")
        return State.PASSED

    def _fresh(self) -> list[Any]:
        assert self.inputs is not None
        if not self.mutates:
            return self.inputs
        return [x.clone() if isinstance(x, torch.Tensor) else x for x in self.inputs]

    def _lowered_inputs(self, lowered: Graph, inputs: list[Any]) -> list[Any]:
        """Return the inputs of a lowered graph: its source's, then its own constants."""
        more = lowered.inputs[len(inputs) :]
        return [*inputs, *(make_input(lowered, entry) for entry in more)]

    def _serialisable(self) -> State:
        if from_bytes(to_bytes(self.stored)) != self.stored:
            raise GraphError("its bytes give another graph")
        if from_json(to_json(self.stored)) != self.stored:
            raise GraphError("its JSON gives another graph")
        self._need_walk()
        lowered = to_aten(self.graph)  # torch.export produces ATen
        again = recapture(lowered)
        if normalize(again).structure != normalize(lowered).structure:
            changes = _describe_changes(lowered, again)
            raise GraphError(f"captured again it is another graph: {changes}")
        return self._compare(
            "re-captured", lambda x: interpret(again, self._lowered_inputs(lowered, x), _CPU)
        )

    def _decomposable(self) -> State:
        self._need_walk()
        if len(self.graph.nodes) < 2:
            return State.PASSED
        pieces = split(self.graph, PIECES)
        if len(pieces) < 2:
            raise GraphError("it cannot be cut: a value that is not a tensor is live everywhere")
        if self.inputs is None:
            _compose_fake(pieces, self.graph)
            return State.FAKE
        return self._compare("composed of pieces", lambda x: compose(self.graph, pieces, x))

    def _compare(self, label: str, call: Callable[[list[Any]], Any]) -> State:
        """Compare the graph's outputs with those of another way to compute them."""
        if self.inputs is None:
            return State.FAKE
        with run_context():
            outputs = call(self._fresh())
        part, wrong = largest_difference(self.outputs, outputs)
        largest = max(part, self.verdict.difference or 0.0)
        self.verdict = replace(self.verdict, difference=largest)
        if wrong:
            raise GraphError(f"{label}: {wrong}")
        return State.PASSED


_CPU = torch.device("cpu")


def _compose_fake(pieces: Sequence[Graph], graph: Graph) -> None:
    """Raise GraphError unless each piece's inputs are inputs or results of earlier pieces."""
    specs = {entry.name: entry.spec for entry in graph.inputs}
    for piece in pieces:
        walked = walk(piece)
        if walked.disagreements:
            raise GraphError(f"a piece: {_list_some(walked.disagreements)}")
        for entry in piece.inputs:
            if specs.get(entry.name) != entry.spec:
                raise GraphError(
                    f"a piece takes {entry.name}, which no earlier one gives as {entry.spec}"
                )
        specs |= {n.name: n.result for n in walked.graph.nodes}  # type: ignore[misc]


def _describe_changes(graph: Graph, again: Graph) -> str:
    before = Counter(node.target for node in graph.nodes)
    after = Counter(node.target for node in again.nodes)
    lost = [f"{count} {target} less" for target, count in (before - after).most_common(3)]
    more = [f"{count} {target} more" for target, count in (after - before).most_common(3)]
    return ", ".join((*lost, *more)) or "the same operators, wired or called otherwise"


def _list_some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return "; ".join(texts[:3]) + more


def describe_error(error: BaseException) -> str:
    """Return an error in one line, with the node it happened in."""
    text = " ".join(str(error).split())[:300]
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()) if "in node" in note)
    kind = "" if isinstance(error, GraphError) else f"{type(error).__name__}: "
    return f"{kind}{text}{notes}"
