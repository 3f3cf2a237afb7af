"""Training graphs: forward and backward together, each part, and other dtypes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture import capture
from graph_net.capture.check import check_graph_runs
from graph_net.capture.weights import without_weights
from graph_net.graph import Graph, GraphError, Level, Role, TensorSpec, from_bytes, to_bytes
from graph_net.graph.execute import flat_outputs, make_inputs, run
from graph_net.testing.models import Decoder, case


def values(graph: Graph, model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """What a training graph is called with, from a real model."""
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    given = iter(inputs)
    found = []
    for entry in graph.inputs:
        if entry.original is not None:
            found.append(state[entry.original].detach().clone())
        elif entry.name.startswith("tangents_"):
            found.append(torch.ones(()))
        else:
            found.append(next(given))
    return found


@pytest.mark.parametrize("name", ["residual", "unet", "decoder", "experts"])
def test_the_joint_graph_gives_the_loss_and_autograds_gradients(name: str) -> None:
    chosen = case(name)
    torch.manual_seed(0)
    model, inputs = chosen.build(), chosen.inputs()
    (graph,) = capture(model, inputs, mode="training").graphs
    assert graph.level is Level.ATEN
    assert graph.provenance.option("mode") == "training"
    check_graph_runs(graph)
    called = values(graph, model, inputs)
    outputs = flat_outputs(run(graph, called))
    model.train()
    loss = model(*inputs).float().mean()
    loss.backward()
    names = [entry.original for entry in graph.inputs if entry.role is Role.PARAMETER]
    expected = [dict(model.named_parameters())[str(name)].grad for name in names]
    # Changed buffers come first, then the loss, then a gradient for each input.
    tensors = [leaf for leaf in outputs if isinstance(leaf, Tensor) and leaf.is_floating_point()]
    assert any(leaf.shape == () and torch.allclose(leaf, loss, atol=1e-5) for leaf in tensors)
    for wanted in expected:
        if wanted is not None:
            assert any(
                leaf.shape == wanted.shape and torch.allclose(leaf, wanted, atol=1e-5)
                for leaf in tensors
            )


def test_the_two_parts_are_graphs_of_their_own() -> None:
    model, inputs = Decoder(), case("decoder").inputs()
    graphs = {mode: capture(model, inputs, mode=mode).graphs[0] for mode in ("forward", "backward")}
    for mode, graph in graphs.items():
        assert graph.provenance.option("mode") == mode
        check_graph_runs(graph)
        run(graph)
    assert graphs["forward"].structure != graphs["backward"].structure
    assert any(entry.name.startswith("tangents_") for entry in graphs["backward"].inputs)


def test_a_model_without_weights_is_trained_on_paper() -> None:
    inputs = case("decoder").inputs()
    with without_weights():
        empty = Decoder()
    (light,) = capture(empty, inputs, mode="training").graphs
    (heavy,) = capture(Decoder(), inputs, mode="training").graphs
    assert light.structure == heavy.structure


def test_the_model_is_left_as_it_was() -> None:
    model = case("residual").build().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    capture(model, case("residual").inputs(), mode="training")
    assert not model.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_model_without_gradients_is_refused() -> None:
    with pytest.raises(GraphError, match="gradient"):
        capture(nn.ReLU(), (torch.randn(3),), mode="training")


def test_an_unknown_mode_is_named() -> None:
    with pytest.raises(GraphError, match="inference, training, forward, backward"):
        capture(nn.ReLU(), (torch.randn(3),), mode="lunch")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_model_is_captured_in_another_dtype(dtype: torch.dtype) -> None:
    (graph,) = capture(
        case("residual").build().eval(), case("residual").inputs(), dtype=dtype
    ).graphs
    name = str(dtype).removeprefix("torch.")
    weights = [e for e in graph.inputs if e.role is Role.PARAMETER]
    assert all(isinstance(e.spec, TensorSpec) and e.spec.dtype == name for e in weights)
    (leaf,) = flat_outputs(run(from_bytes(to_bytes(graph))))
    assert leaf.dtype == dtype


def test_an_expanded_input_is_one_value_in_many_places() -> None:
    x = torch.arange(3.0)[:, None].expand(3, 4)
    (graph,) = capture(Sums(), (x,)).graphs
    (made,) = make_inputs(graph)
    assert made.shape == (3, 4)
    assert made.stride(1) == 0
    assert torch.equal(made[:, 0], made[:, 3])


class Sums(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sum()


class Breaks(nn.Module):
    """Two layers with a graph break between them, the second looked at from Python."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.first(x)
        torch._dynamo.graph_break()
        z: Tensor = self.second(y)
        return z


class Hides(Breaks):
    """The same, but the second layer is kept from Dynamo."""

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = hidden(self.second, self.first(x))
        return z


@torch._dynamo.disable  # type: ignore[untyped-decorator]
def hidden(layer: nn.Module, x: Tensor) -> Tensor:
    z: Tensor = layer(x)
    return z


@pytest.mark.parametrize(("model", "coverage"), [(Breaks(), 1.0), (Hides(), 0.5)])
def test_pieces_tell_how_much_of_the_model_they_cover(model: nn.Module, coverage: float) -> None:
    captured = capture(model, (torch.randn(2, 8),), ways=("dynamo",))
    assert captured.coverage == pytest.approx(coverage)
