"""Workloads of Triton's space as graphs, which compute the same and join with others."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from graph_net.graph import Graph, Input, Level, ListValue, Node, Normal, Ref, Role, TensorSpec
from graph_net.graph.execute import run
from graph_net.programs.store.task_table import TaskStore
from graph_net.programs.triton import H200, TritonSpace, workload_of
from graph_net.programs.triton.family import Family
from graph_net.programs.triton.graphs import graph_of
from graph_net.programs.triton.layers import Module, along, batched, conv, linear
from graph_net.programs.triton.workload_data import WorkloadData
from programs.triton.some_kernels import TASKS

MODULES: dict[str, Module] = {
    "linear": linear(5, 7, 9, "tf32", "none"),
    "linear, gelu": linear(5, 7, 9, "tf32", "bias_gelu"),
    "linear, added": linear(5, 7, 9, "tf32", "bias_add"),
    "linear, silu": linear(5, 7, 9, "tf32", "silu"),
    "keys": batched(2, 5, 7, 9, "tf32", True),
    "values": batched(2, 5, 7, 9, "tf32", False),
    "matrices": {**batched(2, 5, 7, 9, "tf32", False), "epilogue": "bias_relu"},
    "convolution": conv(2, 8, 4, 6, 3, "tf32", "bias_relu6", 2),
    "pointwise": conv(2, 8, 4, 6, 1, "tf32", "bias"),
    "patches": conv(2, 8, 4, 6, 4, "tf32", "none", 4),
    "residual": conv(1, 7, 4, 4, 3, "tf32", "bias_add_relu"),
    "softmax": along("softmax", 4, 9, "float32"),
    "layer norm": along("layer_norm", 4, 9, "float32"),
    "RMS norm": along("rms_norm", 4, 9, "float32"),
    "sum": along("row_sum", 4, 9, "float32"),
}


def family(module: Module) -> Family:
    return TritonSpace(workload_of(module), H200.text).family


def given(data: WorkloadData, graph: Graph) -> Iterator[torch.Tensor]:
    """What a workload has, as the graph's inputs want it."""
    for entry in graph.inputs:
        tensor = data.tensors[entry.name]
        assert isinstance(entry.spec, TensorSpec)
        if tensor.dim() == 4:
            tensor = tensor.permute(0, 3, 1, 2)
            assert tensor.stride() == entry.spec.stride
        yield tensor.reshape(entry.spec.sizes({})) if tensor.dim() != 4 else tensor


@pytest.mark.parametrize("name", MODULES)
def test_a_graph_computes_what_its_workload_does(name: str) -> None:
    data = WorkloadData(family(MODULES[name]), "cpu")
    graph = graph_of(data.family)
    (result,) = run(graph, list(given(data, graph)))
    result = result.permute(0, 2, 3, 1) if result.dim() == 4 else result
    data.tensors["out"].copy_(result.reshape(data.tensors["out"].shape))
    data.verify()


def captured(*nodes: Node, inputs: tuple[tuple[int, ...], ...]) -> Graph:
    """A subgraph as a decomposition cuts it out: its inputs are numbered in the order of use."""
    entries = [
        Input(f"i_{place}", TensorSpec(shape, "float32"), Normal(0.0, 1.0), Role.INPUT)
        for place, shape in enumerate(inputs)
    ]
    return Graph(tuple(entries), nodes, (Ref(nodes[-1].name),), Level.ATEN)


def test_a_structure_is_that_of_the_same_layer_in_a_network() -> None:
    i_0, i_1, i_2 = (Ref(f"i_{place}") for place in range(3))
    feed = captured(
        Node("linear", "aten.linear.default", (i_0, i_1, i_2)),
        Node("gelu", "aten.gelu.default", (Ref("linear"),)),
        inputs=((1, 577, 1280), (5120, 1280), (5120,)),
    )
    found = graph_of(family(linear(512, 3072, 768, "float16", "bias_gelu")))
    assert found.structure == feed.structure
    assert found.id != feed.id
    padded = (i_0, i_1, i_2, ListValue((1, 1)), ListValue((1, 1)))
    filtered = captured(
        Node("conv2d", "aten.conv2d.default", padded),
        Node("relu", "aten.relu.default", (Ref("conv2d"),)),
        inputs=((1, 64, 74, 74), (64, 64, 3, 3), (64,)),
    )
    assert graph_of(family(conv(1, 56, 64, 64, 3, "float16", "bias_relu"))).structure == (
        filtered.structure
    )


def test_workloads_have_different_graphs() -> None:
    graphs = [graph_of(TritonSpace(task.workload, H200.text).family) for task in TASKS]
    assert len({graph.id for graph in graphs}) == len(graphs)
    assert len({graph.structure for graph in graphs}) == len(graphs)


def test_the_hashes_reach_the_table_of_tasks(tmp_path: Path) -> None:
    work = TASKS[0]
    task = work.named(H200.text)
    details = json.loads(task.details)
    graph = graph_of(TritonSpace(work.workload, H200.text).family)
    assert (details["structure"], details["graph"]) == (graph.structure, graph.id)
    store = TaskStore(tmp_path)
    store.add("h200", "h200.jsonl.gz", [task])
    (row,) = store.source().to_table().to_pylist()
    assert (row["structure"], row["graph"]) == (graph.structure, graph.id)
