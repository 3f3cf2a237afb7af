"""Half precision as autocast does it."""

from __future__ import annotations

import pytest
import torch

from graph_net.capture import capture
from graph_net.graph import GraphError, TensorSpec
from graph_net.graph.execute import flat_outputs, make_inputs, run
from graph_net.graph.runtime import torch_dtype
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant import with_dtype
from graph_net.testing.models import case_graph

PLAIN = ("residual", "unet", "windows", "decoder", "encoder", "recurrent", "experts", "spectrum")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", PLAIN)
def test_the_casts_are_those_of_torch(name: str, dtype: str) -> None:
    graph = to_aten(case_graph(name))
    half = torch_dtype(dtype)
    try:
        with torch.autocast("cpu", half):
            wanted = flat_outputs(run(graph))
    except RuntimeError:
        pytest.skip("autocast itself cannot run it on this machine")
    found = flat_outputs(run(with_dtype(graph, dtype)))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


@pytest.mark.parametrize("cast", ["autocast", "all"])
@pytest.mark.parametrize("name", ["residual", "unet", "decoder", "encoder"])
def test_outputs_are_close_to_those_of_float32(name: str, cast: str) -> None:
    graph = case_graph(name)
    half = with_dtype(graph, "bfloat16", cast)
    for one, other in zip(flat_outputs(run(half)), flat_outputs(run(graph)), strict=True):
        torch.testing.assert_close(one.float(), other, rtol=5e-2, atol=5e-2)


def test_what_must_stay_in_float32_stays() -> None:
    half = with_dtype(case_graph("spectrum"), "bfloat16")
    dtypes = {node.result.dtype for node in half.nodes if isinstance(node.result, TensorSpec)}
    assert dtypes == {"float32", "complex64"}


def test_specifications_are_those_of_a_run() -> None:
    half = with_dtype(case_graph("decoder"), "bfloat16")
    linear = [node for node in half.nodes if node.target == "aten.linear.default"]
    assert linear
    assert all(getattr(node.result, "dtype", "") == "bfloat16" for node in linear)
    assert half.provenance.option("variant_dtype") == "bfloat16"


def test_cast_all_stores_parameters_in_half() -> None:
    half = with_dtype(case_graph("residual"), "bfloat16", "all")
    assert {entry.spec.dtype for entry in half.inputs if hasattr(entry.spec, "dtype")} <= {
        "bfloat16",
        "int64",
    }
    (leaf,) = flat_outputs(run(half, make_inputs(half)))
    assert leaf.dtype == torch.bfloat16


class CastsToItsWeights(torch.nn.Module):
    """Casts its input to the dtype of its weights, as many vision models do."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        cast: torch.Tensor = self.layer((value * 2).to(torch.float32))
        return cast


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (torch.nn.Linear(8, 4), (2, 8)),
        (torch.nn.LayerNorm(8), (2, 8)),
        (torch.nn.Conv2d(3, 4, 3), (1, 3, 8, 8)),
    ],
)
def test_cast_all_casts_to_the_dtype_of_the_weights(
    layer: torch.nn.Module, shape: tuple[int, ...]
) -> None:
    (graph,) = capture(CastsToItsWeights(layer).eval(), (torch.randn(shape),)).graphs
    half = with_dtype(graph, "bfloat16", "all")
    assert half.provenance.option("variant_casts_follow") is True
    (leaf,) = flat_outputs(run(half, make_inputs(half)))
    assert leaf.dtype == torch.bfloat16


def test_cast_all_sees_mixed_dtypes_in_every_product_that_fake_tensors_accept() -> None:
    class Added(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias, self.weight = (torch.nn.Parameter(torch.randn(*s)) for s in ((4,), (8, 4)))

        def forward(self, value: torch.Tensor) -> torch.Tensor:
            return torch.addmm(self.bias, (value * 2).to(torch.float32), self.weight)

    (graph,) = capture(Added().eval(), (torch.randn(2, 8),)).graphs
    (leaf,) = flat_outputs(run(with_dtype(graph, "bfloat16", "all")))
    assert leaf.dtype == torch.bfloat16


def test_what_mixes_dtypes_whatever_its_casts_is_refused() -> None:
    class Table(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 4)

        def forward(self, value: torch.Tensor) -> torch.Tensor:
            kept: torch.Tensor = self.layer(torch.linspace(0, 1, 8).expand(2, 8)) + value
            return kept

    (graph,) = capture(Table().eval(), (torch.randn(2, 4),)).graphs
    with pytest.raises(GraphError, match=r"linear.* reads bfloat16 and float32.*`autocast` keeps"):
        with_dtype(graph, "bfloat16", "all")


def test_what_has_no_half_form_is_refused_with_the_operator() -> None:
    with pytest.raises(GraphError, match=r"fft_fftn.*`autocast` keeps"):
        with_dtype(case_graph("spectrum"), "bfloat16", "all")


@pytest.mark.parametrize(("dtype", "cast"), [("int8", "autocast"), ("bfloat16", "some")])
def test_wrong_words_are_answered_with_the_right_ones(dtype: str, cast: str) -> None:
    with pytest.raises(GraphError, match="known: "):
        with_dtype(case_graph("residual"), dtype, cast)
