"""Level torch to level aten."""

from __future__ import annotations

import pytest
import torch

from graph_net.graph import (
    Constant,
    Graph,
    GraphError,
    Input,
    Integers,
    Level,
    Literal,
    Node,
    Normal,
    Ref,
    Role,
    ScalarSpec,
    TensorSpec,
)
from graph_net.graph.execute import digest, flat_outputs, run
from graph_net.graph.schema import normalise_arguments
from graph_net.graph.targets import is_aten_level
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import CASES, Decoder, case_graph, graph_of

FLOATS = TensorSpec((2, 8), "float32")
X = Input("x", FLOATS, Normal(0.0, 1.0))


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_the_lowered_graph_computes_the_same_bits(name: str) -> None:
    graph = case_graph(name)
    lowered = to_aten(graph)
    assert lowered.level is Level.ATEN
    assert all(is_aten_level(node.target) for node in lowered.nodes)
    assert digest(run(lowered)) == digest(run(graph))


def test_composite_operators_stay_whole() -> None:
    """Pre-dispatch: linear is linear, not a transpose and a product."""
    targets = {node.target for node in to_aten(case_graph("decoder")).nodes}
    assert "aten.linear.default" in targets
    assert "aten.scaled_dot_product_attention.default" in targets


def test_inputs_keep_their_names_order_and_recipes() -> None:
    graph = case_graph("residual")
    assert to_aten(graph).inputs[: len(graph.inputs)] == graph.inputs


def test_every_result_is_specified() -> None:
    lowered = to_aten(case_graph("unet"))
    assert all(node.result is not None for node in lowered.nodes)


def test_lowering_twice_changes_nothing() -> None:
    lowered = to_aten(case_graph("experts"))
    assert to_aten(lowered) is lowered


def test_mutation_keeps_its_meaning() -> None:
    lowered = to_aten(case_graph("windows"))
    assert any(node.target.split(".")[1].endswith("_") for node in lowered.nodes)


def test_no_weights_exist_while_lowering() -> None:
    """A model of 68 GB is lowered; were its weights made, this machine could not."""
    with torch.device("meta"):
        model = Decoder(layers=2, width=8192, heads=64, words=2_000_000)
    graph = graph_of(model, (torch.zeros(1, 4, dtype=torch.int64, device="meta"),))
    wide = to_aten(graph)
    assert wide.tensor_bytes > 60e9
    assert any(node.target == "aten.embedding.default" for node in wide.nodes)


def test_a_value_read_from_a_literal_decides_at_lowering_time() -> None:
    lowered = to_aten(case_graph("reads_values"))
    assert not any("_local_scalar_dense" in node.target for node in lowered.nodes)
    (output,) = flat_outputs(run(lowered))
    assert output.shape == (2, 5)


def branching(recipe: Literal | Integers) -> Graph:
    """Uses a number that is read from an input as the length of a slice and in a branch."""
    length = Input("n", TensorSpec((1,), "int64"), recipe)
    nodes = (
        Node("count", "method:item", (Ref("n"),)),
        Node("small", "operator.lt", (Ref("count"), 6)),
        Node("index", "builtins.int", (Ref("small"),)),
        Node("both", "torch.stack", ((Ref("x"), Ref("x")),)),
        Node("chosen", "operator.getitem", (Ref("both"), Ref("index"))),
        Node("y", "method:narrow", (Ref("chosen"), 1, 0, Ref("count"))),
    )
    return Graph((X, length), nodes, Ref("y"))


def test_a_branch_on_a_literal_is_taken() -> None:
    lowered = to_aten(branching(Literal((3,))))
    assert run(lowered).shape == (2, 3)
    assert lowered.provenance.option("specialised_values") is None


def test_a_literal_changed_through_a_view_is_not_read_too_early() -> None:
    """The number is 3 when it is stored and 5 when it is read."""
    length = Input("n", TensorSpec((1,), "int64"), Literal((3,)))
    nodes = (
        Node("view", "method:view", (Ref("n"), -1)),
        Node("later", "method:add_", (Ref("view"), 2)),
        Node("count", "method:item", (Ref("n"),)),
        Node("y", "operator.mul", (Ref("x"), Ref("count"))),
    )
    graph = Graph((X, length), nodes, Ref("y"))
    assert digest(run(to_aten(graph))) == digest(run(graph))


def test_a_branch_on_a_drawn_value_is_taken_and_recorded() -> None:
    graph = branching(Integers(4, 4))
    lowered = to_aten(graph)
    assert digest(run(lowered)) == digest(run(graph))
    assert lowered.provenance.option("specialised_values") == ("count",)


def test_a_size_that_contradicts_the_tensors_is_repaired_and_recorded() -> None:
    """GraphNet's extractor wrote 4 for every SymInt; this one was 8."""
    size = Input("s0", ScalarSpec("int"), Constant(4))
    node = Node("y", "method:view", (Ref("x"), Ref("s0"), 2))
    lowered = to_aten(Graph((size, X), (node,), Ref("y")))
    assert run(lowered).shape == (8, 2)
    assert lowered.provenance.option("repaired_sizes") == ("s0",)


def test_a_disabled_autocast_region_leaves_no_trace() -> None:
    nodes = (
        Node("enter", "torch.amp.autocast_mode._enter_autocast", ("cpu", None, False, None)),
        Node("y", "operator.matmul", (Ref("x"), Ref("x"))),
        Node("leave", "torch.amp.autocast_mode._exit_autocast", (Ref("enter"),)),
    )
    graph = Graph((Input("x", TensorSpec((4, 4), "float32"), Normal(0.0, 1.0)),), nodes, Ref("y"))
    lowered = to_aten(graph)
    assert [node.target for node in lowered.nodes] == ["aten.matmul.default"]


def test_an_enabled_autocast_region_becomes_casts() -> None:
    nodes = (
        Node(
            "enter",
            "torch.amp.autocast_mode._enter_autocast",
            ("cpu", None, True, None),
        ),
        Node("y", "operator.matmul", (Ref("x"), Ref("x"))),
        Node("leave", "torch.amp.autocast_mode._exit_autocast", (Ref("enter"),)),
    )
    graph = Graph((Input("x", TensorSpec((4, 4), "float32"), Normal(0.0, 1.0)),), nodes, Ref("y"))
    lowered = to_aten(graph)
    assert run(lowered).dtype == torch.bfloat16
    assert digest(run(lowered)) == digest(run(graph))


def test_constants_made_while_tracing_become_inputs() -> None:
    nodes = (
        Node("limit", "torch.tensor", ((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),)),
        Node("y", "torch.minimum", (Ref("x"), Ref("limit"))),
    )
    lowered = to_aten(Graph((X,), nodes, Ref("y")))
    (constant,) = [entry for entry in lowered.inputs if entry.role is Role.CONSTANT]
    assert constant.recipe == Literal((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0))


def test_what_cannot_be_lowered_says_where() -> None:
    graph = Graph((X,), (Node("bad", "method:view", (Ref("x"), 3)),), Ref("bad"))
    with pytest.raises(GraphError, match="in node 'bad'"):
        to_aten(graph)


def test_arguments_follow_the_schema_without_defaults() -> None:
    softmax, addmm = torch.ops.aten.softmax.int, torch.ops.aten.addmm.default
    assert normalise_arguments(softmax, (1, 2, None), {}) == ((1, 2), {})
    assert normalise_arguments(softmax, (1,), {"dim": 2, "dtype": torch.half}) == (
        (1, 2, torch.half),
        {},
    )
    assert normalise_arguments(addmm, (1, 2), {"mat2": 3, "beta": 1, "alpha": 2}) == (
        (1, 2, 3),
        {"alpha": 2},
    )
