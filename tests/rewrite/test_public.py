"""Private names of torch become public ones, and the outputs stay."""

from __future__ import annotations

import pytest
import torch

from graph_net.graph import (
    Dtype,
    Graph,
    Input,
    Level,
    ListValue,
    Node,
    Normal,
    Ref,
    TensorSpec,
    Value,
)
from graph_net.graph.execute import flat_outputs, run
from graph_net.graph.targets import canonical_target
from graph_net.rewrite.public_names import is_private, private_names, to_public
from graph_net.testing.models import case_graph


def tensor(name: str, *shape: int) -> Input:
    return Input(name, TensorSpec(shape, "float32"), Normal(0.0, 1.0))


def calling(target: str, inputs: tuple[Input, ...], *args: Value) -> Graph:
    return Graph(inputs, (Node("y", target, args),), Ref("y"))


X = tensor("x", 2, 3, 8)
CALLS = {
    "torch._C._nn.pad": (
        (X,),
        (Ref("x"), (1, 2), "constant", 0.5),
        "torch.nn.functional.pad",
    ),
    "torch._weight_norm": (
        (tensor("v", 4, 3), tensor("g", 4, 1)),
        (Ref("v"), Ref("g"), 0),
        "aten._weight_norm",
    ),
    "torch._C._nn.silu": ((X,), (Ref("x"),), "aten.silu"),
    "torch._C._nn.reflection_pad1d": ((X,), (Ref("x"), (1, 1)), "aten.reflection_pad1d"),
    "torch._softmax": ((X,), (Ref("x"), -1, False), "aten._softmax"),
    "torch._native_multi_head_attention": (
        (X, tensor("w", 24, 8), tensor("b", 24), tensor("o", 8, 8), tensor("p", 8)),
        (
            *(Ref("x"), Ref("x"), Ref("x"), 8, 2),
            *(Ref("w"), Ref("b"), Ref("o"), Ref("p"), None, False),
        ),
        "aten._native_multi_head_attention",
    ),
}


@pytest.mark.parametrize("target", CALLS)
def test_a_private_name_becomes_one_that_stays(target: str) -> None:
    inputs, args, wanted = CALLS[target]
    graph = calling(target, inputs, *args)
    assert private_names(graph) == [target]
    made = to_public(graph)
    assert [node.target for node in made.nodes] == [wanted]
    for one, other in zip(flat_outputs(run(made)), flat_outputs(run(graph)), strict=True):
        assert one is other is None or torch.equal(one, other)


@pytest.mark.parametrize("name", ["linear", "gelu", "scaled_dot_product_attention", "softplus"])
def test_twins_are_public_as_soon_as_they_are_read(name: str) -> None:
    assert canonical_target(f"torch._C._nn.{name}") == f"torch.nn.functional.{name}"


def test_calls_that_compute_nothing_are_left_out() -> None:
    nodes = (
        Node("a", "torch._C._log_api_usage_once", ("python.nn_module",)),
        Node("b", "torch._C._set_grad_enabled", (False,)),
        Node("n", "method:size", (Ref("x"), 0)),
        Node("c", "torch._check_is_size", (Ref("n"),)),
        Node("d", "operator.ge", (Ref("n"), 0)),
        Node("e", "torch._check", (Ref("d"),)),
        Node("y", "torch.relu", (Ref("x"),)),
    )
    graph = Graph((X,), nodes, Ref("y"))
    made = to_public(graph)
    assert [node.name for node in made.nodes] == ["n", "y"]
    assert torch.equal(run(made), run(graph))


def test_what_has_no_public_name_is_lowered() -> None:
    enter = "torch.amp.autocast_mode._enter_autocast"
    nodes = (
        Node("a", enter, ("cpu", Dtype("bfloat16"), True, None)),
        Node("y", "torch.matmul", (Ref("w"), Ref("w"))),
        Node("b", "torch.amp.autocast_mode._exit_autocast", (Ref("a"),)),
    )
    graph = Graph((tensor("w", 4, 4),), nodes, (Ref("y"),))
    made = to_public(graph)
    assert made.level is Level.ATEN
    assert not private_names(made)
    for one, other in zip(flat_outputs(run(made)), flat_outputs(run(graph)), strict=True):
        assert torch.equal(one, other)


def test_a_graph_of_public_names_is_the_same_object() -> None:
    graph = case_graph("decoder")
    assert not private_names(graph)
    assert to_public(graph) is graph


@pytest.mark.parametrize(
    ("target", "private"),
    [
        ("torch._C._nn.pad", True),
        ("torch.nn.functional._canonical_mask", True),
        ("method:_conj", True),
        ("method:__and__", False),
        ("aten._weight_norm.default", False),
        ("torch.nn.functional.pad", False),
    ],
)
def test_a_name_is_private_by_its_underscore(target: str, private: bool) -> None:
    assert is_private(target) is private


def test_lists_stay_lists() -> None:
    graph = calling("torch._C._nn.pad", (X,), Ref("x"), ListValue((1, 1)))
    assert run(to_public(graph)).shape == (2, 3, 10)
