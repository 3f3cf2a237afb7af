"""Graph to FX and back."""

from __future__ import annotations

import pytest
import torch
from torch import fx, nn

from graph_net.graph import GraphError, Level, Literal, Normal, RunDevice, UnknownTarget
from graph_net.graph.execute import digest, make_inputs, run
from graph_net.graph.fx import from_fx, recipe_of, to_fx
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import CASES, case_graph, graph_of

NAMES = [case.name for case in CASES]


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_comes_back_from_fx_as_it_was(name: str) -> None:
    graph = case_graph(name)
    assert from_fx(to_fx(graph)) == graph


@pytest.mark.parametrize("name", NAMES)
def test_fx_nodes_come_back_as_they_were(name: str) -> None:
    """The other way round: names, kinds, targets and arguments of every FX node."""
    module = to_fx(case_graph(name))
    again = to_fx(from_fx(module))

    def described(of: fx.GraphModule) -> list[tuple[str, str, object, str, str]]:
        return [(n.name, n.op, n.target, str(n.args), str(n.kwargs)) for n in of.graph.nodes]

    assert described(again) == described(module)


@pytest.mark.parametrize("name", ["residual", "decoder", "windows"])
def test_the_fx_form_computes_the_same(name: str) -> None:
    graph = case_graph(name)
    with torch.inference_mode():
        outputs = to_fx(graph)(*make_inputs(graph))
    assert digest(outputs) == digest(run(graph))


@pytest.mark.parametrize("name", ["residual", "decoder", "experts"])
def test_lowered_graphs_come_back_from_fx_too(name: str) -> None:
    graph = to_aten(case_graph(name))
    assert graph.level is Level.ATEN
    assert from_fx(to_fx(graph)) == graph


def test_devices_are_left_to_the_run() -> None:
    class OnDevice(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.arange(3, device=torch.device("cpu"))

    graph = graph_of(OnDevice(), (torch.randn(3),))
    (arange,) = [node for node in graph.nodes if node.target == "torch.arange"]
    assert dict(arange.kwargs)["device"] == RunDevice()
    meta = to_fx(graph, "meta")
    (node,) = [node for node in meta.graph.nodes if node.target is torch.arange]
    assert node.kwargs["device"] == torch.device("meta")


def test_tensors_made_without_a_device_follow_the_run() -> None:
    class Counting(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.arange(3) + torch.tensor([1.0, 2.0, 3.0])

    graph = graph_of(Counting(), (torch.randn(3),))
    for level in (graph, to_aten(graph)):
        made = [n.kwargs.get("device") for n in to_fx(level, "meta").graph.nodes if n.kwargs]
        assert made == [torch.device("meta")] * len(made)
    inputs = [torch.empty(3, device="meta")]
    (output,) = run(graph, inputs, device="meta")
    assert output.device.type == "meta"


def test_state_of_a_module_becomes_inputs() -> None:
    class Holder(nn.Module):
        shift: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("shift", torch.full((3,), 2.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.weight + self.shift

    graph = from_fx(fx.symbolic_trace(Holder()), [torch.ones(3)])
    assert [(e.name, e.role.value) for e in graph.inputs] == [
        ("x", "input"),
        ("weight", "parameter"),
        ("shift", "buffer"),
    ]
    (output,) = [run(graph)]
    assert torch.equal(output, make_inputs(graph)[0] + 2.0)


def test_a_call_of_a_module_is_refused_with_the_way_out() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(GraphError, match=r"trace with torch\.export or Dynamo"):
        from_fx(traced, [torch.ones(1, 2)])


def test_a_placeholder_without_a_shape_is_refused_with_the_way_out() -> None:
    class Plain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    with pytest.raises(GraphError, match="pass example_inputs"):
        from_fx(fx.symbolic_trace(Plain()))


def test_a_function_that_is_not_on_the_allow_list_is_refused() -> None:
    def secret(x: torch.Tensor) -> torch.Tensor:
        return x

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(secret, (x,)))
    with pytest.raises(UnknownTarget, match="secret"):
        from_fx(fx.GraphModule(nn.Module(), graph), [torch.ones(1)])


@pytest.mark.parametrize("size", [8, 77])
def test_a_mask_of_infinities_keeps_its_values(size: int) -> None:
    mask = torch.full((size, size), float("-inf")).triu(1)
    recipe = recipe_of(mask)
    assert isinstance(recipe, Literal)
    assert recipe.values == tuple(mask.reshape(-1).tolist())


def test_a_mask_too_large_to_keep_is_drawn_from_what_is_finite() -> None:
    mask = torch.full((300, 300), float("-inf")).triu(1)
    assert recipe_of(mask) == Normal(0.0, 0.0, 0.0, 0.0)
    assert recipe_of(torch.full((300, 300), float("nan"))) == Normal(0.0, 0.0, 0.0, 0.0)
