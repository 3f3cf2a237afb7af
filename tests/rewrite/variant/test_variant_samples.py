"""Variants of GraphNet samples: symbols beside literal sizes, and numbers among the inputs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import oracle
from formats.small_models import SMALL
from graph_net.capture.check import check_graph_runs
from graph_net.capture.training_graph import with_training
from graph_net.formats.graphnet import read_sample
from graph_net.graph import Graph, GraphError, Level, ScalarSpec, TensorSpec
from graph_net.graph.execute import flat_outputs, make_inputs, run
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant import largest_that_fits, peak_bytes, with_sizes


def sample(name: str, place: Path, dynamic: bool = False, batch: int | None = None) -> Graph:
    """A model as a sample, read; the first size of its inputs may be another one."""
    small = SMALL[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = small.build().train(small.training)
        inputs = small.inputs()
        if batch is not None:
            inputs = tuple(x[:1].expand(batch, *x.shape[1:]).contiguous() for x in inputs)
        oracle.extract(model, inputs, place, dynamic)
    return read_sample(place)


def values(graph: Graph) -> dict[str, object]:
    return dict(zip([e.name for e in graph.inputs], make_inputs(graph), strict=True))


@pytest.mark.parametrize(
    ("name", "dynamic"),
    [
        ("decoder", False),
        ("recurrent", False),
        ("rotary", False),
        ("routed", False),
        ("unet", True),
        ("residual", True),
        ("attention", True),
    ],
)
def test_a_resized_sample_computes_what_the_model_does_at_that_size(
    name: str, dynamic: bool, tmp_path: Path
) -> None:
    graph = sample(name, tmp_path / "small", dynamic)
    wanted = sample(name, tmp_path / "large", batch=3)
    made = with_sizes(graph, {"batch": 3})
    given = values(made) | values(wanted)
    pairs = zip(
        flat_outputs(run(made, [given[entry.name] for entry in made.inputs])),
        flat_outputs(run(wanted, [given[entry.name] for entry in wanted.inputs])),
        strict=True,
    )
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in pairs)


def test_a_symbol_set_by_name_is_followed_by_literal_sizes(tmp_path: Path) -> None:
    graph = sample("decoder", tmp_path)
    made = with_sizes(graph, {"S0": 4})
    assert flat_outputs(run(made))[0].shape[0] == 4
    assert made.provenance.option("variant_followed_S0")


def test_symbols_stay_where_no_number_has_to_follow(tmp_path: Path) -> None:
    made = with_sizes(sample("residual", tmp_path), {"batch": 4})
    assert made.level is Level.TORCH
    assert made.bindings["S0"] == 4
    assert peak_bytes(made) > made.tensor_bytes


def test_a_size_is_found_for_a_sample_whose_inner_values_count(tmp_path: Path) -> None:
    """They are what takes the memory, and a sample does not say how large they are."""
    graph = sample("residual", tmp_path)
    limit = 4 * peak_bytes(to_aten(graph))
    made = largest_that_fits(graph, limit)
    batch = made.bindings["S0"]
    assert peak_bytes(made) <= limit < peak_bytes(with_sizes(to_aten(graph), {"batch": batch + 1}))


def test_a_sample_that_would_run_at_another_size_and_be_wrong_is_refused(tmp_path: Path) -> None:
    """``view(1, 2, 4, 2, 4, -1)`` takes any batch, and puts it where the channels belong."""
    with pytest.raises(GraphError, match=r"cannot be resized: aten\.add\.Tensor"):
        with_sizes(sample("windows", tmp_path), {"batch": 7})


@pytest.mark.parametrize("name", ["unet", "residual", "decoder", "recurrent"])
def test_a_sample_that_is_called_with_numbers_can_be_trained(name: str, tmp_path: Path) -> None:
    graph = sample(name, tmp_path, dynamic=True)
    numbers = [entry.name for entry in graph.inputs if isinstance(entry.spec, ScalarSpec)]
    made = with_training(graph, "joint")
    check_graph_runs(made)
    assert all(isinstance(entry.spec, TensorSpec) for entry in made.inputs)
    assert made.provenance.option("variant_numbers") == (tuple(numbers) or None)
    given = {entry.original: entry.recipe for entry in made.inputs}
    for entry in graph.inputs:
        if isinstance(entry.spec, TensorSpec) and entry.name in given:
            assert given[entry.name] == entry.recipe


def test_nothing_to_train_is_said(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="has no floating-point parameter"):
        with_training(sample("spectrum", tmp_path), "joint")
