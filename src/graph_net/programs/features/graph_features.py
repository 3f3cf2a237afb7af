"""A graph as numbers: one row for the graph, one row per node, and the edges between nodes.

Nodes are those of the folded graph (``graph_net.rewrite.blocks``): repeated layers appear once,
with their number of copies, and an edge from one copy to the next is marked as carried. Magnitudes
are log2(1 + x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_net.graph.graph import Graph, Input, Node, Role
from graph_net.graph.operators import base_name
from graph_net.graph.spec import Result, TensorSpec
from graph_net.graph.values import item_bytes
from graph_net.graph.work import work_of
from graph_net.programs.spaces.magnitudes import Floats, bucket, log_magnitude
from graph_net.rewrite.blocks import Folded, fold_blocks
from graph_net.rewrite.operator_weight import Weight, weight_of

OPERATORS = (
    "add sub mul div pow neg exp sqrt rsqrt tanh sigmoid relu gelu silu hardtanh clamp where sum "
    "mean softmax linear matmul bmm addmm conv1d conv2d conv3d conv_transpose2d batch_norm "
    "layer_norm group_norm max_pool2d avg_pool2d adaptive_avg_pool2d scaled_dot_product_attention "
    "embedding cat stack split chunk unbind getitem slice select index gather view reshape flatten "
    "transpose permute expand unsqueeze squeeze to dropout"
).split()
"""Operators with a column of their own, the most frequent of the corpus; others share eight."""
OTHERS = 8
CLASSES = tuple(Weight)
DTYPES = ("float32", "float16", "bfloat16")
SIZES = 4
"""How many sizes of a shape are used, counted from the last."""
COUNTS = (
    "nodes folded_nodes edges inputs depth symbols parameters tensor_bytes moved_bytes flops "
    "convolution_flops intensity flops_known"
).split()
RESULT = "rank elements bytes".split()
OPERATOR_COLUMNS = [*OPERATORS, *(f"other_{number}" for number in range(OTHERS))]
_CLASS_COLUMNS = [f"class_{entry.value}" for entry in CLASSES]
SUMMARY_COLUMNS = [
    *COUNTS, *(f"dtype_{name}" for name in DTYPES), *OPERATOR_COLUMNS, *_CLASS_COLUMNS,
]  # fmt: skip
NODE_COLUMNS = [
    *OPERATOR_COLUMNS, *_CLASS_COLUMNS, *RESULT, *(f"size_{n}" for n in range(-SIZES, 0)),
    "item_bytes", "floating", "arguments", "copies", "input_bytes", "parameter_bytes",
    *(f"parameter_size_{n}" for n in range(-SIZES, 0)),
]  # fmt: skip
VERSION = 1

_PLACE = {name: place for place, name in enumerate(OPERATORS)}


@dataclass(frozen=True)
class GraphFeatures:
    """``summary`` and ``nodes`` in the order of the columns; ``edges`` are (from, to, carried)."""

    summary: Floats
    nodes: Floats
    edges: NDArray[np.int32]


def graph_features(graph: Graph) -> GraphFeatures:
    """Return the features of a graph; the graph is not run."""
    places, kept = _places(fold_blocks(graph))
    edges = _edges(graph, places)
    copies = np.bincount([place.row for place in places.values()], minlength=len(kept))
    nodes = np.zeros((len(kept), len(NODE_COLUMNS)), np.float32)
    for row, node in enumerate(kept):
        nodes[row] = _node(graph, node, int(copies[row]))
    return GraphFeatures(_summary(graph, len(kept), edges), nodes, edges)


@dataclass(frozen=True, slots=True)
class _Place:
    """A node's row, block and copy; a node outside all blocks is in copy 0 of block -1."""

    row: int
    block: int = -1
    copy: int = 0


def _places(folded: Folded) -> tuple[dict[str, _Place], list[Node]]:
    """Return the place of each node of a graph in the folded graph, and the nodes with rows."""
    kept = list(folded.outside)
    by_name = {node.name: node for node in folded.graph.nodes}
    places = {node.name: _Place(row) for row, node in enumerate(kept)}
    for number, block in enumerate(folded.blocks):
        start = len(kept)
        kept += [by_name[name] for name in block.nodes[0]]
        for copy, names in enumerate(block.nodes):
            for offset, name in enumerate(names):
                places[name] = _Place(start + offset, number, copy)
    return places, kept


def _edges(graph: Graph, places: dict[str, _Place]) -> NDArray[np.int32]:
    found = set()
    for node in graph.nodes:
        target = places[node.name]
        for ref in node.refs:
            source = places.get(ref.name)
            if source is not None:
                carried = source.block == target.block and source.copy != target.copy
                found.add((source.row, target.row, int(carried)))
    return np.array(sorted(found), np.int32).reshape(-1, 3)


def _operator(node: Node) -> int:
    """Return the column of a node's operator; an in-place operator shares that of the plain one."""
    base = base_name(node.target)
    plain = base if base.endswith("__") else base.removesuffix("_")
    return _PLACE.get(plain, len(OPERATORS) + bucket(plain, OTHERS))


def _node(graph: Graph, node: Node, copies: int) -> Floats:
    kinds = np.zeros(len(OPERATOR_COLUMNS) + len(CLASSES), np.float32)
    kinds[_operator(node)] = 1
    kinds[len(OPERATOR_COLUMNS) + CLASSES.index(weight_of(node))] = 1
    spec = _first_tensor(node.result)
    sizes = spec.sizes(graph.bindings) if spec else ()
    taken = [graph.index[name] for name in dict.fromkeys(ref.name for ref in node.refs)]
    inputs = [entry for entry in taken if isinstance(entry, Input)]
    weights = [entry for entry in inputs if entry.role is not Role.INPUT]
    largest = max((_sizes(graph, entry) for entry in weights), key=np.prod, default=())
    numbers = [
        len(sizes),
        spec.elements(graph.bindings) if spec else 0,
        spec.bytes(graph.bindings) if spec else 0,
        *_last(sizes),
        item_bytes(spec.dtype) if spec else 0,
        float("float" in spec.dtype) if spec else 0,
        sum(1 for _ in node.refs),
        copies,
        _bytes(graph, [entry for entry in inputs if entry.role is Role.INPUT]),
        _bytes(graph, weights),
        *_last(largest),
    ]
    return np.concatenate([kinds, log_magnitude(numbers)])


def _summary(graph: Graph, rows: int, edges: NDArray[np.int32]) -> Floats:
    work = work_of(graph)
    flops = work.flops or 0
    numbers = [
        len(graph.nodes),
        rows,
        len(edges),
        len(graph.inputs),
        _depth(graph),
        len(graph.symbols),
        graph.parameters,
        graph.tensor_bytes,
        work.bytes,
        flops,
        work.convolutions,
        flops / work.bytes if work.bytes else 0,
        work.flops is not None,
        *(name in work.dtypes for name in DTYPES),
    ]
    operators = np.bincount(
        [_operator(node) for node in graph.nodes], minlength=len(OPERATOR_COLUMNS)
    )
    found = [weight_of(node) for node in graph.nodes]
    return log_magnitude([*numbers, *operators, *(found.count(entry) for entry in CLASSES)])


def _depth(graph: Graph) -> int:
    """Return the number of nodes on the longest path."""
    depth: dict[str, int] = {}
    for node in graph.nodes:
        depth[node.name] = 1 + max((depth.get(ref.name, 0) for ref in node.refs), default=0)
    return max(depth.values(), default=0)


def _first_tensor(result: Result) -> TensorSpec | None:
    if isinstance(result, tuple):
        return next((spec for part in result if (spec := _first_tensor(part))), None)
    return result if isinstance(result, TensorSpec) else None


def _sizes(graph: Graph, entry: Input) -> tuple[int, ...]:
    return entry.spec.sizes(graph.bindings) if isinstance(entry.spec, TensorSpec) else ()


def _last(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the last sizes of a shape, padded with zeros in front."""
    return (0,) * (SIZES - len(sizes)) + sizes[-SIZES:]


def _bytes(graph: Graph, entries: list[Input]) -> int:
    return sum(
        entry.spec.bytes(graph.bindings) for entry in entries if isinstance(entry.spec, TensorSpec)
    )
