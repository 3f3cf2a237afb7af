"""What Inductor fuses into one kernel, read from its schedule."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_net.graph import Graph, GraphError, Input, Node, Normal, Ref, TensorSpec
from graph_net.graph.graph import Level
from graph_net.rewrite import scheduling
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.fusible import convex_parts, fusible
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.scheduling import kernels
from graph_net.testing.models import case_graph, graph_of
from graph_net.validate.fake_run import walk

SPEC = TensorSpec((8, 16), "float32")
SQUARE = TensorSpec((16, 16), "float32")
X = Input("x", SPEC, Normal(0.0, 1.0))
W = Input("w", SQUARE, Normal(0.0, 1.0))


def call(name: str, target: str, *reads: Any, spec: Any = SPEC) -> Node:
    args = tuple(Ref(read) if isinstance(read, str) else read for read in reads)
    return Node(name, f"aten.{target}", args, result=spec)


def aten(*nodes: Node, output: str = "", inputs: tuple[Input, ...] = (X, W)) -> Graph:
    return Graph(inputs, nodes, (Ref(output or nodes[-1].name),), Level.ATEN)


def test_what_lies_between_two_products_is_one_kernel() -> None:
    graph = aten(
        call("before", "mm.default", "x", "w"),
        call("a", "relu.default", "before"),
        call("b", "mul.Tensor", "a", 3.0),
        call("c", "sigmoid.default", "b"),
        call("after", "mm.default", "c", "w"),
    )
    assert [set(kernel) for kernel in kernels(graph)] == [{"before"}, {"a", "b", "c"}, {"after"}]
    assert fusible(graph) == [("a", "b", "c")]


def test_what_a_call_decomposes_into_counts_as_the_call() -> None:
    weight = Input("scale", TensorSpec((16,), "float32"), Normal(0.0, 1.0))
    norm = Node(
        "norm",
        "aten.layer_norm.default",
        (Ref("a"), (16,), Ref("scale"), Ref("scale")),
        result=SPEC,
    )
    graph = aten(
        call("product", "linear.default", "x", "w"),
        call("a", "gelu.default", "product"),
        norm,
        call("b", "add.Tensor", "norm", "x"),
        inputs=(X, W, weight),
    )
    groups = fusible(graph)
    assert ("norm", "b") in groups or ("a", "norm", "b") in groups
    assert not any("product" in group for group in groups)


def test_a_call_that_inductor_removes_stays_inside_its_group() -> None:
    graph = aten(
        call("a", "relu.default", "x"),
        call("nothing", "dropout.default", "a", 0.5, False),
        call("b", "exp.default", "nothing"),
        call("alone", "mm.default", "b", "w"),
    )
    assert fusible(graph) == [("a", "nothing", "b")]


def test_several_results_stay_with_those_who_take_them_apart() -> None:
    half = TensorSpec((8, 8), "float32")
    graph = aten(
        call("a", "mm.default", "x", "w"),
        call("both", "split.Tensor", "a", 8, 1, spec=(half, half)),
        Node("left", "operator.getitem", (Ref("both"), 0), result=half),
        Node("right", "operator.getitem", (Ref("both"), 1), result=half),
        call("gate", "sigmoid.default", "left", spec=half),
        call("gated", "mul.Tensor", "gate", "right", spec=half),
    )
    assert fusible(graph) == [("both", "left", "right", "gate", "gated")]


@pytest.mark.parametrize("name", ["residual", "windows"])
def test_every_group_is_a_graph_and_nearly_always_one_kernel_of_its_own(name: str) -> None:
    """Not always: alone, a group has other neighbours, and Inductor may choose otherwise."""
    graph = walk(to_aten(case_graph(name))).graph
    carver = Carver(graph)
    groups = fusible(graph)
    assert groups
    alone = [len(kernels(carver.carve(group))) for group in groups]
    assert sum(count > 1 for count in alone) <= 1


def test_nothing_is_compiled_and_no_weight_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of two tensors of a terabyte each is scheduled; no process is started."""

    def started(*words: Any, **more: Any) -> None:
        raise AssertionError(f"a process was started: {words}")

    monkeypatch.setattr(subprocess, "Popen", started)
    huge = TensorSpec((500_000, 500_000), "float32")
    graph = aten(
        call("a", "relu.default", "x", spec=huge),
        call("b", "exp.default", "a", spec=huge),
        inputs=(Input("x", huge, Normal(0.0, 1.0)),),
    )
    assert fusible(graph) == [("a", "b")]


def test_inductor_is_as_it_was_afterwards() -> None:
    from torch._inductor.graph import GraphLowering

    before = GraphLowering.codegen
    graph = aten(call("a", "relu.default", "x"), call("b", "exp.default", "a"))
    fusible(graph)
    assert GraphLowering.codegen is before


def test_what_inductor_cannot_take_is_one_sentence() -> None:
    narrow = Input("w", TensorSpec((3, 3), "float32"), Normal(0.0, 1.0))
    wrong = aten(call("a", "mm.default", "x", "w"), inputs=(X, narrow))
    with pytest.raises(GraphError, match="Inductor cannot schedule it"):
        fusible(wrong)


def test_another_inductor_is_told_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "_NEEDED", ("codegen", "schedule_all"))
    with pytest.raises(GraphError, match=r"torch \S+ is not supported.*schedule_all"):
        fusible(aten(call("a", "relu.default", "x")))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_is_needed_for_its_schedule() -> None:
    with pytest.raises(GraphError, match="needs a GPU"):
        fusible(aten(call("a", "relu.default", "x")), device="cuda")


def test_a_graph_that_computes_nothing_has_no_group() -> None:
    class Same(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(-1)

    assert fusible(to_aten(graph_of(Same(), (torch.zeros(2, 3),)))) == []


@st.composite
def _sets(draw: st.DrawFn) -> tuple[Graph, set[int]]:
    """A graph of additions, each of two earlier values, and some of its nodes."""
    count = draw(st.integers(2, 12))
    nodes = []
    for i in range(count):
        reads = [draw(st.integers(-1, i - 1)) for _ in range(2)]
        words = ["x" if read < 0 else f"n{read}" for read in reads]
        nodes.append(call(f"n{i}", "add.Tensor", *words))
    chosen = draw(st.sets(st.integers(0, count - 1), min_size=1))
    return aten(*nodes), chosen


@given(_sets())
def test_the_parts_of_a_set_are_convex_and_all_of_it(drawn: tuple[Graph, set[int]]) -> None:
    graph, chosen = drawn
    carver = Carver(graph)
    parts = list(convex_parts(carver, chosen))
    assert sorted(i for part in parts for i in part) == sorted(chosen)
    for part in parts:
        carver.carve(graph.nodes[i].name for i in part)  # refuses what is not convex


@given(_sets())
def test_a_convex_set_is_one_part(drawn: tuple[Graph, set[int]]) -> None:
    graph, chosen = drawn
    carver = Carver(graph)
    try:
        carver.carve(graph.nodes[i].name for i in chosen)
    except GraphError:
        return
    assert len(list(convex_parts(carver, chosen))) == 1
