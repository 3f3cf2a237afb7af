"""The operator of a task in one word, by which scores are grouped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from graph_net.corpus.pack import Pack, PackError
from graph_net.graph import Graph, GraphError, Node, Ref, TensorSpec
from graph_net.programs.view.overview import TaskSummary

SUBGRAPHS = "subgraphs"
KINDS = {
    "depthwise": r"depthwise",
    "conv_transpose": r"conv\w*transpose|transpose\w*conv|deconv",
    "conv3d": r"conv3d",
    "conv2d": r"conv",
    "batched_matmul": r"batch(ed)?_matmul|bmm",
    "attention": r"attention",
    "matmul": r"matmul|dense|linear|gemm",
    "softmax": r"softmax",
    "norm": r"(layer|rms|group|batch)_?norm",
    "pool": r"pool",
    "reduction": r"reduc|sum|mean|variance|argmax|argmin",
}
"""Kinds by a pattern in a kernel's name; the first match counts."""
OTHER = "elementwise"
GROUPS = {"conv2d": 6, "convolution": 8}
"""Index of the number of groups among an operator's arguments."""


def kind_of_name(kernel: str) -> str:
    """Return the kind of a kernel by its name: ``fused_conv2d_add_relu`` is a conv2d."""
    name = kernel.lower()
    return next((kind for kind, how in KINDS.items() if re.search(how, name)), OTHER)


def task_kinds(records: Path, tasks: Mapping[str, TaskSummary]) -> dict[str, str]:
    """Return the kind of each task; the subgraph tells whether a convolution has groups."""
    kinds = {name: kind_of_name(task.kernel or task.name) for name, task in tasks.items()}
    convolutions = {
        f"{task.kernel}-{task.workload}": name
        for name, task in tasks.items()
        if kinds[name] == "conv2d"
    }
    try:
        pack = Pack(records / SUBGRAPHS)
        for name, graph in pack.graphs(sorted(convolutions)):
            kinds[convolutions[name]] = convolution_kind(graph)
    except (PackError, GraphError):
        return kinds  # publishing subgraphs is optional
    return kinds


def convolution_kind(graph: Graph) -> str:
    """Return the kind of a graph's first convolution: conv2d, grouped or depthwise."""
    weights = {given.name: given.spec for given in graph.inputs}
    for node in graph.nodes:
        groups = _groups(node)
        if groups > 1:
            weight = weights.get(node.args[1].name) if isinstance(node.args[1], Ref) else None
            return "depthwise" if _is_depthwise(weight) else "grouped"
    return "conv2d"


def _groups(node: Node) -> int:
    place = next((GROUPS[part] for part in node.target.split(".") if part in GROUPS), None)
    if place is None:
        return 1
    groups = node.args[place] if len(node.args) > place else dict(node.kwargs).get("groups", 1)
    return groups if isinstance(groups, int) else 1


def _is_depthwise(weight: object) -> bool:
    """Return whether each filter of a weight (out, in / groups, height, width) sees one channel."""
    return isinstance(weight, TensorSpec) and len(weight.shape) == 4 and weight.shape[1] == 1
