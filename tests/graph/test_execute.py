"""Running graphs eagerly."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from graph_net.graph import (
    Constant,
    Graph,
    GraphError,
    Input,
    Literal,
    Node,
    Normal,
    Ref,
    ScalarSpec,
    TensorSpec,
)
from graph_net.graph.execute import digest, flat_outputs, make_inputs, run
from graph_net.testing.models import case, case_graph

FLOATS = TensorSpec((4,), "float32")


def graph_with(*nodes: Node, output: str, **inputs: Input) -> Graph:
    given = inputs or {"x": Input("x", FLOATS, Normal(0.0, 1.0))}
    return Graph(tuple(given.values()), nodes, Ref(output))


def test_a_run_is_repeatable_and_follows_the_seed() -> None:
    graph = case_graph("noisy")
    assert digest(run(graph)) == digest(run(graph))
    assert digest(run(graph, seed=1)) != digest(run(graph))


def test_a_run_leaves_the_global_random_state_alone() -> None:
    before = torch.random.get_rng_state()
    run(case_graph("noisy"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_run_leaves_the_grad_mode_alone() -> None:
    off = Node("off", "torch._C._set_grad_enabled", (False,))
    run(graph_with(off, Node("y", "torch.relu", (Ref("x"),)), output="y"))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("target", ["torch.relu", "torch.cat"])
def test_a_run_leaves_autocast_alone(target: str) -> None:
    """Whether the graph forgets to leave it, or fails in between."""
    enter = Node("enter", "torch.amp.autocast_mode._enter_autocast", ("cpu", None, True, None))
    graph = graph_with(enter, Node("y", target, (Ref("x"),)), output="y")
    with suppress(TypeError):
        run(graph)
    assert not torch.is_autocast_enabled("cpu")
    assert torch.autocast_increment_nesting() == 1
    torch.autocast_decrement_nesting()


def test_the_model_itself_gives_the_same_outputs() -> None:
    """Weights in, weights out: the graph computes what the module it came from computes."""
    chosen = case("residual")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = chosen.build().eval()
        inputs = chosen.inputs()
    graph = case_graph("residual")
    values = {name.replace(".", "_"): v for name, v in model.state_dict().items()}
    given = []
    for entry in graph.inputs:
        key = entry.name.removeprefix("L_self_modules_").removesuffix("_")
        key = key.replace("_modules_", "_").replace("_parameters_", "_").replace("_buffers_", "_")
        given.append(values.get(key, inputs[0]))
    with torch.inference_mode():
        expected = model(*inputs)
    (output,) = flat_outputs(run(graph, given))
    assert torch.equal(output, expected)


def test_mutation_is_seen_through_aliases() -> None:
    nodes = (
        Node("flat", "method:view", (Ref("x"), -1)),
        Node("changed", "method:mul_", (Ref("x"), 0.0)),
        Node("y", "operator.add", (Ref("flat"), 1.0)),
    )
    assert torch.equal(run(graph_with(*nodes, output="y")), torch.ones(4))


def test_inputs_are_made_as_their_strides_say() -> None:
    spec = TensorSpec((2, 3), "float32", (1, 2))
    graph = Graph((Input("x", spec, Literal(tuple(map(float, range(6))))),), (), Ref("x"))
    (tensor,) = make_inputs(graph)
    assert tensor.stride() == (1, 2)
    assert tensor.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_numbers_are_passed_as_numbers() -> None:
    size = Input("n", ScalarSpec("int"), Constant(5))
    graph = graph_with(Node("y", "torch.arange", (Ref("n"),)), output="y", n=size)
    assert run(graph).tolist() == [0, 1, 2, 3, 4]


def test_a_failing_call_says_which_node_it_was() -> None:
    graph = graph_with(Node("bad", "method:view", (Ref("x"), 3)), output="bad")
    with pytest.raises(RuntimeError) as caught:
        run(graph)
    assert "in node 'bad', a call of method:view" in caught.value.__notes__


def test_a_literal_of_the_wrong_length_is_a_graph_error() -> None:
    entry = Input("x", FLOATS, Literal((1.0, 2.0)))
    with pytest.raises(GraphError, match="node x"):
        run(Graph((entry,), (), Ref("x")))


def test_the_wrong_number_of_inputs_is_refused() -> None:
    with pytest.raises(GraphError, match="0 inputs given; the graph takes 1"):
        run(graph_with(output="x"), [])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_same_graph_runs_on_a_gpu() -> None:
    graph = case_graph("decoder")
    there, here = flat_outputs(run(graph, device="cuda")), flat_outputs(run(graph))
    for a, b in zip(there, here, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-3, atol=1e-3)


def test_dead_values_are_freed() -> None:
    """A chain of a thousand calls holds a few tensors, not a thousand."""
    big = TensorSpec((1 << 20,), "float32")
    names = ["x", *(f"y{i}" for i in range(1000))]
    nodes = tuple(
        Node(after, "operator.add", (Ref(before), 1.0)) for before, after in pairwise(names)
    )
    graph = replace(graph_with(*nodes, output=names[-1]), inputs=(Input("x", big, Constant(0.0)),))
    assert float(run(graph)[0]) == 1000.0  # 4 GB if nothing were freed
