"""Graphs written as GraphNet samples: whatever a Graph holds comes back."""

from __future__ import annotations

import ast
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import oracle
from graph_net.formats.graphnet import find_samples, read_sample
from graph_net.formats.graphnet.source import model_source
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import (
    Bernoulli,
    Constant,
    DictValue,
    Dtype,
    Expr,
    Graph,
    GraphError,
    Input,
    Integers,
    Level,
    ListValue,
    Literal,
    Node,
    Normal,
    Provenance,
    Recipe,
    Ref,
    Role,
    RunDevice,
    ScalarSpec,
    Slice,
    Symbol,
    TensorSpec,
    TorchConstant,
    Uniform,
    Value,
)
from graph_net.graph.execute import make_inputs, run
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import case_graph

FLOATS = TensorSpec((2, 3), "float32")
LX = Ref("L_x_")
X = Input("L_x_", FLOATS, Normal(0.0, 1.0))
WORDS = Provenance(model="a", library="b")


def graph_of(*nodes: Node, output: Value = LX, inputs: tuple[Input, ...] = (X,)) -> Graph:
    return Graph(inputs, nodes, output, provenance=WORDS)


def read_back(graph: Graph, directory: Path) -> Graph:
    write_sample(graph, directory / "sample")
    return read_sample(directory / "sample")


# -- inputs -------------------------------------------------------------------------------------

RECIPES: tuple[tuple[str, Recipe], ...] = (
    ("float32", Normal(0.25, 1.5)),
    ("float32", Normal(None, None)),
    ("float32", Normal(math.nan, math.inf, -math.inf, 3.0)),
    ("bfloat16", Normal(0.0, 0.0, 0.0, 1.0)),
    ("float32", Uniform(-1.0, 2.0)),
    ("float32", Constant(2.5)),
    ("float32", Integers(0, 9)),
    ("float32", Literal((0.1, -0.0, math.inf, -math.inf, 1e-30, 7.0))),
    ("float16", Literal((math.nan, 1.0, 2.0, 3.0, 4.0, 5.0))),
    ("int64", Integers(-5, 1 << 40)),
    ("int64", Literal((1, -2, 3, 0, 5, 1 << 62))),
    ("int32", Normal(1.0, 2.0)),
    ("uint8", Constant(200)),
    ("bool", Bernoulli()),
    ("bool", Bernoulli(0.25)),
    ("bool", Literal((True, False, True, True, False, False))),
    ("complex64", Normal(0.0, 1.0)),
    ("complex64", Literal((1j, -1.5 + 2j, complex(-0.0, -0.0), complex(math.inf, 1), 0j, 3 + 0j))),
    ("float8_e4m3fn", Normal(0.0, 1.0)),
)


@pytest.mark.parametrize(("dtype", "recipe"), RECIPES, ids=str)
def test_recipes_come_back_and_make_the_same_tensors(
    tmp_path: Path, dtype: str, recipe: Recipe
) -> None:
    graph = graph_of(inputs=(Input("L_x_", TensorSpec((2, 3), dtype), recipe),))
    again = read_back(graph, tmp_path)
    assert again == graph
    assert oracle.same(run(again), run(graph))


INPUTS = {
    "a parameter": replace(X, name="L_self_parameters_w_", role=Role.PARAMETER),
    "a parameter by annotation": replace(X, name="w", role=Role.PARAMETER),
    "a buffer": replace(X, name="L_self_buffers_b_", role=Role.BUFFER),
    "a buffer by no name": replace(X, name="b", role=Role.BUFFER),
    "a constant": replace(X, role=Role.CONSTANT),
    "an input called as a parameter": replace(X, name="L_self_parameters_w_"),
    "another local name": replace(X, local="weight"),
    "an original name": replace(X, name="in_0", original="L_x_"),
    "a stride": replace(X, spec=TensorSpec((2, 3), "float32", (1, 2))),
    "no size": replace(X, spec=TensorSpec((0, 3), "float32")),
    "no dimension": replace(X, spec=TensorSpec((), "float32")),
    "a whole number": Input("s0", ScalarSpec("int"), Constant(4)),
    "a fraction": Input("f0", ScalarSpec("float"), Constant(0.5)),
    "a truth": Input("b0", ScalarSpec("bool"), Constant(True)),
}


@pytest.mark.parametrize("entry", INPUTS.values(), ids=INPUTS)
def test_inputs_come_back(tmp_path: Path, entry: Input) -> None:
    graph = graph_of(inputs=(entry,), output=(Ref(entry.name),))
    assert read_back(graph, tmp_path) == graph


def test_symbols_constraints_and_shapes_come_back(tmp_path: Path) -> None:
    shape = (Expr("S0"), Expr("2*S1 + 1"), 3)
    graph = Graph(
        (Input("L_x_", TensorSpec(shape, "float32", (3, Expr("3*S0"), 1)), Normal(0.0, 1.0)),),
        (Node("y", "torch.relu", (LX,)),),
        (Ref("y"),),
        symbols=(Symbol("S0", 2), Symbol("S1", 4, 1, None), Symbol("S2", 9, -1, 100)),
        constraints=(Expr("S0 <= S1"), Expr("Eq(S2, S1*S0 + 1)")),
        provenance=WORDS,
    )
    assert read_back(graph, tmp_path) == graph


def test_provenance_comes_back(tmp_path: Path) -> None:
    words = Provenance(
        library="timm",
        model="resnet",
        category="computer_vision",
        subcategory="classification",
        tags=("a", "b"),
        framework_version="2.13",
        options=(
            ("dynamic", True),
            ("num_devices_required", 2),
            ("passes", ListValue(("one", DictValue((("k", None), ("l", 1.5)))))),
            ("graph_hash", "0" * 64),
        ),
    )
    graph = replace(graph_of(), provenance=words)
    assert read_back(graph, tmp_path) == graph
    marker = json.loads((tmp_path / "sample" / "graph_net.json").read_text())
    assert (marker["source"], marker["heuristic_tag"]) == ("timm", "computer_vision")
    assert (marker["framework"], marker["num_devices_required"]) == ("torch", 2)
    assert (tmp_path / "sample" / "graph_hash.txt").read_text() == "0" * 64


def test_a_lowered_graph_comes_back(tmp_path: Path) -> None:
    graph = to_aten(case_graph("residual"))
    assert graph.level is Level.ATEN
    plain = replace(graph, nodes=tuple(replace(node, result=None) for node in graph.nodes))
    assert read_back(plain, tmp_path) == plain
    inputs = make_inputs(plain)
    assert oracle.same(oracle.execute(tmp_path / "sample", inputs), run(plain))


# -- arguments and layout -----------------------------------------------------------------------

ARGUMENTS: tuple[Value, ...] = (
    -1, -1.5, 1e300, math.inf, -math.inf, math.nan, 2j, complex(-0.0, 1.0), True, None, ...,
    "it's", 'say "no"', "\\ \n\t", "ä", Dtype("float8_e5m2"), TorchConstant("channels_last"),
    (), (1,), ((),), ListValue(()), ListValue((1, ListValue((LX,)))),
    DictValue(()), DictValue((("a b", LX), ("c", (1,)))), Slice(None, LX, -1),
    (Slice(None, None, None), ..., None, -1), ListValue(tuple(range(100))),
    tuple((Slice(i, None, None), "long" * 30) for i in range(5)),
)  # fmt: skip


@pytest.mark.parametrize("value", ARGUMENTS, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("target", ["torch.full", "operator.add", "operator.getitem", "method:sum"])
def test_arguments_come_back(tmp_path: Path, value: Value, target: str) -> None:
    node = Node("y", target, (LX, value))
    keyword = Node("w", target, (LX, Ref("y")), (("dim", value), ("out", (value,))))
    left = Node("z", target, (value, Ref("y")))
    nodes = (node, keyword) if target.startswith("method:") else (node, keyword, left)
    graph = graph_of(*nodes, output=(Ref("w"), value))
    assert read_back(graph, tmp_path) == graph


def test_long_lines_are_broken_as_black_breaks_them() -> None:
    source = model_source(case_graph("decoder"))
    ast.parse(source)
    long = [line for line in source.splitlines() if len(line) > 88]
    assert all(" = L_" in line or line.strip().startswith("L_") for line in long)
    assert "\t" not in source


@pytest.mark.parametrize("name", ["torch", "self", "slice", "max", "device"])
def test_a_name_that_the_source_needs_is_written_longer(tmp_path: Path, name: str) -> None:
    placed = Node("y", "torch.zeros", (2,), (("device", RunDevice()),))
    graph = graph_of(Node(name, "method:abs", (LX,)), placed, output=(Ref(name), Ref("y")))
    with pytest.raises(
        GraphError, match=rf"uses this name itself; rename the value \(node {name}\)"
    ):
        model_source(graph)
    again = read_back(graph, tmp_path)
    assert [node.name for node in again.nodes] == [f"{name}_", "y"]
    assert again.id == graph.id


def test_a_graph_that_returns_nothing(tmp_path: Path) -> None:
    graph = graph_of(output=None)
    assert read_back(graph, tmp_path) == graph
    assert oracle.execute(tmp_path / "sample", [torch.ones(2, 3)]) is None


def test_a_killed_writer_leaves_no_sample(tmp_path: Path) -> None:
    """What it leaves is hidden, and nobody takes it for a sample."""
    write_sample(graph_of(), tmp_path / "model")
    (tmp_path / "model").rename(tmp_path / ".model.123")
    write_sample(graph_of(), tmp_path / "other")
    assert list(find_samples(tmp_path)) == [tmp_path / "other"]


@pytest.mark.parametrize(
    ("recipe", "mean", "deviation"),
    [(Constant(1.5), 1.5, 0.0), (Uniform(-1.0, 2.0), 0.5, 5 * 3 / math.sqrt(12))],
)
def test_graphnets_own_tools_find_mean_and_deviation(
    recipe: Recipe, mean: float, deviation: float, tmp_path: Path
) -> None:
    graph = Graph((replace(X, recipe=recipe),), (Node("y", "torch.relu", (LX,)),), (Ref("y"),))
    write_sample(graph, tmp_path / "s")
    lines = (tmp_path / "s" / "weight_meta.py").read_text().splitlines()
    fields = dict(line.strip().split(" = ", 1) for line in lines if " = " in line)
    assert float(fields["mean"]) == pytest.approx(mean)
    assert float(fields["std"]) == pytest.approx(deviation)
    assert read_sample(tmp_path / "s").inputs[0].recipe == recipe
