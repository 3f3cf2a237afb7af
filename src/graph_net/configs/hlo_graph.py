"""A ConfigGraph's nodes as a Graph of level hlo, for the usual store, lists, hashes and pictures.

Parameters with a shape are inputs, including those of called computations. Every other node is a
call whose operands are those in the file. The name of the file's node ``17`` ends in ``_17``.
"""

from __future__ import annotations

import numpy as np

from graph_net.configs.config_graph import ConfigGraph, NodeTable
from graph_net.formats.tpugraphs.hlo import DTYPES
from graph_net.formats.tpugraphs.node_columns import COLUMNS, ELEMENT_TYPES, LAYOUT, SHAPE
from graph_net.formats.tpugraphs.opcodes import PARAMETER, opcode_name
from graph_net.graph.graph import Graph, Input, Level, Node, Provenance
from graph_net.graph.hlo_targets import hlo_target
from graph_net.graph.recipe import Uniform
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import DictValue, Ref, Value
from graph_net.store.lines import ReadError

_TYPES = slice(2, 2 + len(ELEMENT_TYPES))
_ATTRIBUTES = range(29, 134)
_UNSET = {
    name: 1.0 for name in COLUMNS if name.endswith("_product") and not name.startswith("shape")
}
"""Values of columns for nodes without the attribute, where not zero."""
Spec = TensorSpec | None


def hlo_graph(graph: ConfigGraph) -> Graph:
    """Return the Graph; raise ReadError if a node consumes a later one."""
    table = graph.nodes
    if (table.edges[:, 0] <= table.edges[:, 1]).any():
        raise ReadError(f"{graph.name}: a node consumes one that does not come before it")
    specs, names = _specs(table), _names(table)
    inputs, nodes = [], []
    consumed = _consumed(table)
    for place, (name, spec) in enumerate(zip(names, specs, strict=True)):
        if table.opcodes[place] == PARAMETER and spec is not None and not consumed[place]:
            inputs.append(Input(name, spec, Uniform(0.0, 1.0)))
            continue
        args = tuple(Ref(names[other]) for other in consumed[place])
        kwargs = _kwargs(table.features[place], spec)
        target = hlo_target(opcode_name(int(table.opcodes[place])))
        nodes.append(Node(name, target, args, kwargs, spec))
    used = set(table.edges[:, 1].tolist())
    ends = tuple(Ref(names[place]) for place in range(len(table)) if place not in used)
    return Graph(tuple(inputs), tuple(nodes), ends, Level.HLO, provenance=_origin(graph))


def _origin(graph: ConfigGraph) -> Provenance:
    options = (("collection", graph.collection), ("split", graph.split))
    return Provenance("tpugraphs", graph.name, framework="xla", options=options)


def _consumed(table: NodeTable) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(len(table))]
    for consumer, other in table.edges.tolist():
        found[consumer].append(other)
    return found


def _names(table: NodeTable) -> list[str]:
    opcodes = [opcode_name(number).replace("-", "_") for number in table.opcodes.tolist()]
    return [f"{name}_{place}" for place, name in enumerate(opcodes)]


def _specs(table: NodeTable) -> list[Spec]:
    kinds = table.features[:, _TYPES].argmax(axis=1)
    sizes = table.features[:, SHAPE].astype(np.int64)
    orders = table.features[:, LAYOUT].astype(np.int64)
    known: dict[tuple[int, bytes, bytes], Spec] = {}
    found = []
    for kind, size, order in zip(kinds.tolist(), sizes, orders, strict=True):
        key = (kind, size.tobytes(), order.tobytes())
        if key not in known:
            known[key] = _spec(kind, size.tolist(), order.tolist())
        found.append(known[key])
    return found


def _spec(kind: int, sizes: list[int], order: list[int]) -> Spec:
    dtype = DTYPES.get(ELEMENT_TYPES[kind])
    if dtype is None:
        return None
    rank = next((place for place, size in enumerate(sizes) if size <= 0), len(sizes))
    shape, order = tuple(sizes[:rank]), order[:rank]
    if sorted(order) != list(range(rank)) or order == list(range(rank))[::-1]:
        return TensorSpec(shape, dtype)
    strides, step = [0] * rank, 1
    for dimension in order:
        strides[dimension], step = step, step * shape[dimension]
    return TensorSpec(shape, dtype, tuple(strides))


def _kwargs(row: np.ndarray[tuple[int], np.dtype[np.float32]], spec: Spec) -> Kwargs:
    shape: Kwargs = () if spec is None else (("shape", _sizes(spec)),)
    pairs = tuple(
        (COLUMNS[column], float(row[column]))
        for column in _ATTRIBUTES
        if row[column] != _UNSET.get(COLUMNS[column], 0.0)
    )
    return (*shape, ("attributes", DictValue(pairs))) if pairs else shape


def _sizes(spec: TensorSpec) -> tuple[Value, ...]:
    return tuple(size for size in spec.shape if isinstance(size, int))


Kwargs = tuple[tuple[str, Value], ...]
