"""Sizes found for memory and for time, device-free graphs, training steps."""

from __future__ import annotations

import pytest
import torch

from graph_net.capture.training_graph import with_training
from graph_net.graph import Graph, GraphError, Node, Ref
from graph_net.graph.devices import names_device
from graph_net.graph.effects import draws_random
from graph_net.graph.execute import flat_outputs, interpret, make_inputs, run
from graph_net.graph.flops import count_flops
from graph_net.graph.graph import Role
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant import (
    device_free,
    largest_that_fits,
    peak_bytes,
    size_for_seconds,
    variant_of,
    with_sizes,
)
from graph_net.rewrite.variant.sizes import size_of
from graph_net.testing.models import case_graph


def test_the_largest_batch_that_fits_is_found() -> None:
    graph, limit = to_aten(case_graph("decoder")), 400_000
    made = largest_that_fits(graph, limit)
    size = size_of(made, "batch")
    assert size > 1
    assert peak_bytes(made) <= limit < peak_bytes(with_sizes(graph, {"batch": size + 1}))
    assert made.provenance.option("variant_fits_bytes") == limit


def test_what_cannot_fit_says_what_it_takes() -> None:
    with pytest.raises(GraphError, match=r"at batch=1 it takes .* bytes, not 10"):
        largest_that_fits(case_graph("residual"), 10)


def test_a_time_is_found_by_operations_and_checked() -> None:
    graph, asked = to_aten(case_graph("residual")), []

    def time(found: Graph) -> float:
        """A machine with a fixed rate, and an overhead that counting does not know."""
        asked.append(found)
        return 1e-3 + (count_flops(found).total or 0) / 1e9

    made = size_for_seconds(graph, 0.02, time)
    assert 0.02 / 1.5 <= time(made) <= 0.02 * 1.5
    assert len(asked) <= 4  # once before, at most twice to check, once here
    assert made.provenance.option("variant_measured_seconds") is not None


def test_a_graph_without_operations_has_no_time() -> None:
    with pytest.raises(GraphError, match="operations cannot be counted"):
        size_for_seconds(case_graph("noisy"), 1.0, lambda found: 1.0)


def test_a_device_in_a_call_becomes_that_of_the_run() -> None:
    graph = case_graph("windows")
    moved = Node("moved", "method:to", (Ref(graph.inputs[0].name), "cuda:0"))
    bound = Graph(graph.inputs, (moved,), Ref("moved"))
    (free,) = device_free(bound).nodes
    assert any(names_device(value) for value in moved.args)
    assert not any(names_device(value) for value in free.args)
    assert device_free(graph).structure == graph.structure


def test_an_operator_of_one_device_is_refused() -> None:
    graph = case_graph("residual")
    x = Ref(graph.inputs[0].name)
    name = "aten._scaled_dot_product_flash_attention_for_cpu.default"
    bound = Graph(graph.inputs, (Node("y", name, (x, x, x)),), x)
    with pytest.raises(GraphError, match=f"operators of one device: {name}"):
        device_free(bound)


@pytest.mark.parametrize("name", ["residual", "decoder", "unet"])
def test_the_joint_graph_gives_the_gradients_of_autograd(name: str) -> None:
    graph = to_aten(case_graph(name))
    joint = with_training(graph, "joint")
    values = dict(zip([e.name for e in graph.inputs], make_inputs(graph), strict=True))
    for entry in graph.inputs:
        if entry.role is Role.PARAMETER:
            values[entry.name].requires_grad_(True)
    loss = sum(
        leaf.float().mean()
        for leaf in flat_outputs(interpret(graph, list(values.values()), torch.device("cpu")))
    )
    assert isinstance(loss, torch.Tensor)
    wanted = torch.autograd.grad(
        loss, [v for v in values.values() if v.requires_grad], allow_unused=True
    )
    names = {entry.original or entry.name: entry.name for entry in graph.inputs}
    given = [
        values[names[entry.original]].detach() if entry.original else torch.ones(())
        for entry in joint.inputs
    ]
    found = flat_outputs(run(joint, given))
    torch.testing.assert_close(found[0], loss.detach())
    gradients = [leaf for leaf in found[1:] if leaf is not None]
    expected = [leaf for leaf in wanted if leaf is not None]
    assert len(gradients) == len(expected)
    for one, other in zip(sorted(gradients, key=_order), sorted(expected, key=_order), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def _order(leaf: torch.Tensor) -> tuple[list[int], float]:
    return list(leaf.shape), float(leaf.double().sum())


@pytest.mark.parametrize("part", ["forward", "backward"])
def test_each_part_is_a_graph_that_runs(part: str) -> None:
    made = with_training(case_graph("decoder"), part)
    assert flat_outputs(run(made))
    assert made.provenance.option("mode") == part
    assert not any(draws_random(node) for node in made.nodes)


def test_training_words_are_checked() -> None:
    with pytest.raises(GraphError, match="choose one of joint, forward, backward"):
        with_training(case_graph("residual"), "sideways")


def test_a_variant_names_the_first_graph() -> None:
    graph = case_graph("residual")
    first = variant_of(with_sizes(graph, {"batch": 2}), graph)
    second = variant_of(with_sizes(first, {"batch": 3}), first)
    assert second.provenance.option("variant_of") == graph.id
