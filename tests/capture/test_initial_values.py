"""Graphs captured without weights are drawn as their model would begin."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture.capture import capture
from graph_net.capture.initial_values import OPTION, with_initial_values
from graph_net.capture.weights import without_weights
from graph_net.graph import Constant, Graph, Normal, Recipe, Uniform, from_bytes, to_bytes
from graph_net.graph.execute import flat_outputs, interpret, make_inputs


class Net(nn.Module):
    """A convolution, norms, a scale near zero, a projection, and a bias of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.ln = nn.LayerNorm(8)
        self.gamma = nn.Parameter(1e-6 * torch.ones(8))
        self.position = nn.Parameter(torch.zeros(1, 8))
        self.proj = nn.Parameter(torch.randn(8, 32) / math.sqrt(8))
        self.head = nn.Linear(32, 4)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = self.ln(self.bn(self.conv(x)).mean((2, 3)) + self.position) * self.gamma
        y: Tensor = self.head(x @ self.proj)
        return y


def captured(heard: bool, mode: str = "inference") -> Graph:
    with without_weights() as watch:
        model = Net().eval()
    initial = watch.recipes(model) if heard else None
    (graph,) = capture(model, (torch.zeros(2, 3, 9, 9),), mode=mode, initial=initial).graphs
    return graph


def recipes(graph: Graph) -> dict[str | None, Recipe]:
    return {entry.original: entry.recipe for entry in graph.inputs}


def test_parameters_are_drawn_as_the_initialisers_said() -> None:
    found = recipes(captured(heard=True))
    bound = round(1 / math.sqrt(27), 6)
    assert found["conv.weight"] == Uniform(-bound, bound)
    assert found["bn.weight"] == found["ln.weight"] == Constant(1.0)
    assert found["position"] == found["ln.bias"] == Constant(0.0)


def test_a_layer_or_scale_that_begins_at_zero_is_drawn_by_role() -> None:
    found = recipes(captured(heard=True))
    assert found["gamma"] == Constant(1.0)
    assert found["bn.bias"] == Normal(0.0, 1.5)
    assert found["head.weight"] == Normal(0.0, 0.883883)  # drawn at a fifth: 1 / sqrt(32)


def test_without_a_word_from_the_model_roles_decide() -> None:
    found = recipes(captured(heard=False))
    kernel = found["conv.weight"]
    assert isinstance(kernel, Normal)
    assert kernel.std == round(5 * math.sqrt(2 / 27), 5)
    assert found["ln.weight"] == found["gamma"] == Constant(1.0)
    assert found["ln.bias"] == Constant(0.0)
    assert found["head.bias"] == found["position"] == Normal(0.0, 0.1)
    assert found["proj"] == Normal(0.0, 1.76777)  # reads along its first dimension: 1 / sqrt(8)


class Residual(nn.Module):
    """Many branches, each ending in a batch norm that does not normalise."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(depth))
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = x + norm(conv(x.relu()))
        return x


@pytest.mark.parametrize("heard", [False, True])
def test_a_hundred_residual_branches_stay_in_range(heard: bool) -> None:
    with without_weights() as watch:
        model = Residual(100).eval()
        for layer in model.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight)
    initial = watch.recipes(model) if heard else None
    (graph,) = capture(model, (torch.zeros(1, 8, 9, 9),), initial=initial).graphs
    (out,) = flat_outputs(interpret(graph, make_inputs(graph), torch.device("cpu")))
    assert 0.1 < float(out.std()) < 1000


class Gated(nn.Module):
    """Activations that shrink small values, one after the other."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        layers = [(nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8), nn.SiLU())] * depth
        self.layers = nn.Sequential(*(layer for trio in layers for layer in trio))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return y


def test_what_passes_through_many_gates_does_not_vanish() -> None:
    with without_weights() as watch:
        model = Gated(20).eval()
    recipes_heard = watch.recipes(model)
    (graph,) = capture(model, (torch.zeros(1, 8, 43, 43),), initial=recipes_heard).graphs
    (out,) = flat_outputs(interpret(graph, make_inputs(graph), torch.device("cpu")))
    assert 0.01 < float(out.std()) < 10


def test_kernels_without_an_activation_between_them_keep_sizes() -> None:
    with without_weights():
        model = nn.Sequential(*(nn.Conv1d(64, 64, 1, bias=False) for _ in range(40)))
    (graph,) = capture(model, (torch.randn(1, 64, 50),)).graphs
    (out,) = flat_outputs(interpret(graph, make_inputs(graph), torch.device("cpu")))
    assert 0.01 < float(out.std()) < 2  # inputs have 0.2


class Mixed(nn.Module):
    """Mixes its kernel of several, as CondConv does."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.Parameter(torch.empty(4, 8 * 3 * 9))

    def forward(self, x: Tensor) -> Tensor:
        routing = x.mean((2, 3))[:, :1].expand(1, 4).sigmoid()
        return nn.functional.conv2d(x, (routing @ self.experts).view(8, 3, 3, 3))


def test_kernels_that_are_mixed_are_drawn_as_kernels() -> None:
    with without_weights():
        model = Mixed()
    (graph,) = capture(model, (torch.zeros(1, 3, 9, 9),)).graphs
    assert recipes(graph)["experts"] == Normal(0.0, 1.36083)  # drawn at a fifth: sqrt(2 / 27)


def test_normalised_kernels_have_channels_of_one_length() -> None:
    with without_weights():
        model = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 8, 3))
    (graph,) = capture(model, (torch.zeros(1, 4, 9),)).graphs
    assert recipes(graph)["parametrizations.weight.original0"] == Constant(1.41421)


def test_training_graphs_keep_their_statistics_positive() -> None:
    found = recipes(captured(heard=False, mode="training"))
    assert found["bn.running_var"] == Constant(1.0)


@pytest.mark.parametrize(("heard", "word"), [(True, "model and role"), (False, "role")])
def test_provenance_says_where_values_come_from(heard: bool, word: str) -> None:
    graph = captured(heard)
    assert graph.provenance.option(OPTION) == word
    assert from_bytes(to_bytes(graph)) == graph


def test_outputs_are_of_the_size_of_inputs() -> None:
    graph = captured(heard=True)
    (out,) = flat_outputs(interpret(graph, make_inputs(graph), torch.device("cpu")))
    assert 0.02 < float(out.std()) < 5


def test_structure_id_and_names_do_not_depend_on_values() -> None:
    graph = captured(heard=True)
    plain = replace(graph, inputs=tuple(replace(e, recipe=Normal(0.0, 1.0)) for e in graph.inputs))
    again = with_initial_values(plain, {})
    assert (again.id, again.structure) == (graph.id, graph.structure)
    assert [e.name for e in again.inputs] == [e.name for e in graph.inputs]


def test_values_that_were_there_are_not_touched() -> None:
    (graph,) = capture(nn.Linear(100, 100), (torch.zeros(1, 100),)).graphs
    assert with_initial_values(graph) is graph
