"""The five requirements on good graphs, and one bad graph for each."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture import capture
from graph_net.graph import Dtype, Graph, Input, Level, Node, Normal, Ref, Role, TensorSpec
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import CASES, case_graph
from graph_net.validate.checks import Validation, ValidationLimits
from graph_net.validate.recapture import normalize, recapture
from graph_net.validate.report import (
    Requirement,
    State,
    ValidationReport,
    mark_redundant,
    verdict_from_json,
)

FAKE_ALONE = ValidationLimits(real_bytes=0)


def verdict_of(graph: Graph, limits: ValidationLimits | None = None) -> ValidationReport:
    return Validation("g", graph, limits or ValidationLimits()).run()


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_good_graph_meets_all_of_them_with_equal_outputs(name: str) -> None:
    verdict = verdict_of(to_aten(case_graph(name)))
    assert verdict.failures == ()
    assert verdict.ok
    assert verdict.difference == 0.0


@pytest.mark.parametrize("name", ["residual", "windows", "reads_values", "noisy"])
def test_level_torch_is_compared_as_it_is_lowered(name: str) -> None:
    graph = case_graph(name)
    assert graph.level is Level.TORCH
    verdict = verdict_of(graph)
    assert verdict.failures == ()
    assert verdict.difference == 0.0
    assert verdict.structure == graph.structure


def test_a_large_graph_is_not_run_on_values() -> None:
    verdict = verdict_of(to_aten(case_graph("unet")), FAKE_ALONE)
    assert verdict.ok
    assert verdict.difference is None
    assert verdict.state(Requirement.RUNNABLE) is State.FAKE
    assert verdict.state(Requirement.DECOMPOSABLE) is State.FAKE
    assert verdict.flops


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.two(torch.relu(self.one(x)))
        return y.exp()


@pytest.fixture
def small() -> Graph:
    (graph,) = capture(Small(), (torch.randn(2, 4),)).graphs
    return graph


def failed(verdict: ValidationReport) -> dict[Requirement, str]:
    return {finding.requirement: finding.reason for finding in verdict.failures}


def test_a_wrong_shape_is_not_analysable(small: Graph) -> None:
    last = replace(small.nodes[-1], result=TensorSpec((2, 5), "float32"))
    reasons = failed(verdict_of(replace(small, nodes=(*small.nodes[:-1], last))))
    assert "exp" in reasons[Requirement.ANALYSABLE]
    assert "[2, 4]" in reasons[Requirement.ANALYSABLE]


def test_a_wrong_dtype_is_not_analysable(small: Graph) -> None:
    last = replace(small.nodes[-1], result=TensorSpec((2, 4), "float16"))
    reasons = failed(verdict_of(replace(small, nodes=(*small.nodes[:-1], last))))
    assert "float32[2, 4]" in reasons[Requirement.ANALYSABLE]


def test_shapes_that_do_not_fit_do_not_run(small: Graph) -> None:
    changed = [
        replace(e, spec=TensorSpec((2, 3), "float32")) if e.name == "x" else e for e in small.inputs
    ]
    reasons = failed(verdict_of(replace(small, inputs=tuple(changed))))
    assert "a call of aten.linear.default" in reasons[Requirement.ANALYSABLE]
    assert "see analysable" in reasons[Requirement.RUNNABLE]
    assert Requirement.ACCESSIBLE not in reasons


def test_an_operator_this_torch_does_not_have_is_not_accessible(
    small: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_net.graph.checks.check_target", lambda *a, **k: None)
    strange = replace(small.nodes[-1], target="aten.no_such_operator.default")
    reasons = failed(verdict_of(replace(small, nodes=(*small.nodes[:-1], strange))))
    assert "no_such_operator" in reasons[Requirement.ACCESSIBLE]


def test_a_call_that_capture_would_drop_is_not_serialisable(small: Graph) -> None:
    """What nobody reads is not there when the graph is captured again."""
    dead = Node(
        "dead", "aten.cos.default", (Ref(small.nodes[0].name),), result=small.nodes[0].result
    )
    reasons = failed(verdict_of(replace(small, nodes=(*small.nodes, dead))))
    assert list(reasons) == [Requirement.SERIALISABLE]
    assert "1 aten.cos.default less" in reasons[Requirement.SERIALISABLE]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tensor_moved_to_where_it_is_may_be_called_by_either_name(dtype: str) -> None:
    """Tracing calls both ``x`` and ``x.to(float32)`` by the name they got last."""
    spec, other = TensorSpec((4,), "float32"), TensorSpec((4,), dtype)
    inputs = tuple(Input(name, spec, Normal(0.0, 1.0)) for name in ("x", "y"))
    nodes = (
        Node("moved", "aten.to.dtype", (Ref("x"), Dtype(dtype)), result=other),
        Node("kept", "aten.copy_.default", (Ref("x"), Ref("moved")), result=spec),
        Node("cos", "aten.cos.default", (Ref("y"),), result=spec),
    )
    graph = Graph(inputs, nodes, (Ref("cos"),), Level.ATEN)
    assert Requirement.SERIALISABLE not in failed(verdict_of(graph))
    other_name = replace(nodes[1], args=(Ref("moved"), Ref("moved")))
    renamed = replace(graph, nodes=(nodes[0], other_name, nodes[2]))
    same = normalize(renamed).structure == normalize(graph).structure
    assert same == (dtype == "float32")


def test_a_re_capture_that_computes_something_else_is_seen(
    small: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = recapture(small)
    swapped = replace(again, inputs=tuple(again.inputs[i] for i in (2, 3, 0, 1, 4)))
    monkeypatch.setattr("graph_net.validate.checks.to_aten", lambda graph: swapped)
    monkeypatch.setattr("graph_net.validate.checks.recapture", lambda graph: swapped)
    reasons = failed(verdict_of(small))
    assert "re-captured: output 0 differs" in reasons[Requirement.SERIALISABLE]


def test_pieces_that_give_something_else_are_seen(
    small: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_net.validate.checks.compose", lambda *given: (torch.zeros(2, 4),))
    reasons = failed(verdict_of(small))
    assert "composed of pieces" in reasons[Requirement.DECOMPOSABLE]


def test_a_graph_without_a_place_to_cut_is_not_decomposable() -> None:
    class Halves(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            return tuple(x.chunk(2, 1))

    (graph,) = capture(Halves(), (torch.randn(2, 4),)).graphs
    assert "it cannot be cut" in failed(verdict_of(graph))[Requirement.DECOMPOSABLE]


def test_inputs_that_a_run_changes_are_fresh_for_the_next(small: Graph) -> None:
    class Counts(nn.Module):
        seen: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            self.seen.add_(x)
            return self.seen * 2

    (graph,) = capture(Counts(), (torch.randn(3),)).graphs
    verdict = verdict_of(graph)
    assert verdict.difference == 0.0


def test_a_constant_without_its_values_is_noted(small: Graph) -> None:
    weight = replace(small.inputs[0], role=Role.CONSTANT, recipe=Normal(0.0, 1.0), original="table")
    verdict = verdict_of(replace(small, inputs=(weight, *small.inputs[1:])))
    assert verdict.notes == ("the constant table is drawn from statistics",)
    assert verdict_of(small).notes == ()


def test_equal_nans_are_no_agreement(small: Graph) -> None:
    last = small.nodes[-1]
    bad = Node("bad", "aten.mul.Tensor", (Ref(last.name), math.nan), result=last.result)
    verdict = verdict_of(replace(small, nodes=(*small.nodes, bad), output=(Ref("bad"),)))
    assert verdict.state(Requirement.RUNNABLE) is State.FAKE
    assert verdict.difference is None
    assert "throughout" in verdict.notes[0]


def test_a_verdict_survives_the_pipe(small: Graph) -> None:
    verdict = replace(verdict_of(small), notes=("a",), model_reason="b", model_difference=0.5)
    again = verdict_from_json(verdict.as_json())
    assert set(again.findings) == set(verdict.findings)
    same = {"findings": (), "seconds": 0.0}
    assert replace(again, **same) == replace(verdict, **same)  # type: ignore[arg-type]


def test_redundancy_is_by_structure_and_the_first_name_stays() -> None:
    told = mark_redundant(
        [ValidationReport("b", "1"), ValidationReport("a", "1"), ValidationReport("c", "2")],
        {"2": "old"},
    )
    assert [(v.name, v.redundant_with) for v in told] == [("a", ""), ("b", "a"), ("c", "old")]
