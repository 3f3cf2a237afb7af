"""Any Graph in TpuGraphs' numbers: its 140 columns, opcodes and edges.

Inputs come first, as parameters, then the calls in order. A call's sizes, window, dimension numbers
and layout are in the columns that the same HLO operator would fill (listed in
``formats/tpugraphs/node_columns.py``). Strides give the layout.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graph_net.configs.aten_opcodes import opcode_of
from graph_net.configs.call_attributes import with_attributes
from graph_net.configs.config_graph import Ints, NodeTable
from graph_net.formats.tpugraphs.hlo import (
    DTYPES,
    INVALID,
    TUPLE,
    HloInstruction,
    HloShape,
)
from graph_net.formats.tpugraphs.node_columns import dot_row, node_row
from graph_net.formats.tpugraphs.opcodes import (
    CONFIGURABLE,
    TRANSPOSE,
    opcode_number,
)
from graph_net.graph.graph import Graph, Level, Node
from graph_net.graph.operators import base_name
from graph_net.graph.spec import Result, TensorSpec
from graph_net.graph.values import Ref, refs
from graph_net.store.lines import ReadError

_TYPES = {name: number for number, name in DTYPES.items()}


def featurise(graph: Graph, absent: float = 0.0) -> NodeTable:
    """Return a graph of torch operators as numbers; ``absent`` pads lists, 0 or -1."""
    if graph.level not in (Level.ATEN, Level.TORCH):
        raise ReadError(f"a graph of level {graph.level.value}: graphs of torch are featurised")
    instructions = graph_instructions(graph)
    outputs = {ref.name for ref in refs(graph.output)}
    rows = [node_row(one, one.name in outputs, absent) for one in instructions]
    return NodeTable(
        np.array(rows, np.float32),
        np.array([opcode_number(one.opcode) for one in instructions], np.uint8),
        _edges(instructions),
        np.array([0, len(instructions)], np.int64),
        np.array([dot_row(one) for one in instructions], np.float32),
    )


def graph_instructions(graph: Graph) -> list[HloInstruction]:
    """Return inputs and calls as HLO instructions, numbered by position."""
    names = [entry.name for entry in graph.inputs] + [node.name for node in graph.nodes]
    places = {name: place for place, name in enumerate(names)}
    found = [
        HloInstruction(place, entry.name, "parameter", _shape(entry.spec, graph))
        for place, entry in enumerate(graph.inputs)
    ]
    found = [replace(one, parameter_number=place) for place, one in enumerate(found)]
    for node in graph.nodes:
        found.append(_instruction(node, graph, places, found))
    return found


def configurable_nodes(nodes: NodeTable) -> Ints:
    """Return the nodes that a layout can be chosen for: convolution, dot, reshape, transpose."""
    return np.flatnonzero(np.isin(nodes.opcodes, (*CONFIGURABLE, TRANSPOSE)))


def _instruction(
    node: Node, graph: Graph, places: dict[str, int], before: list[HloInstruction]
) -> HloInstruction:
    operands = tuple(dict.fromkeys(places[ref.name] for ref in node.refs))
    opcode = opcode_of(base_name(node.target))
    plain = HloInstruction(
        places[node.name], node.name, opcode, _shape(node.result, graph), operands
    )
    shapes = [
        before[places[value.name]].shape.sizes if isinstance(value, Ref) else ()
        for value in node.args
    ]
    return with_attributes(plain, node, shapes)


def _shape(spec: Result, graph: Graph) -> HloShape:
    if isinstance(spec, tuple):
        return HloShape(TUPLE, parts=len(spec))
    if not isinstance(spec, TensorSpec):
        return HloShape(INVALID)
    sizes = spec.sizes(graph.bindings)
    strides = spec.strides(graph.bindings)
    order = tuple(range(len(sizes)))[::-1]
    if strides is not None:
        order = tuple(sorted(order, key=lambda dimension: (strides[dimension], -dimension)))
    return HloShape(_TYPES.get(spec.dtype, INVALID), sizes, order)


def _edges(instructions: list[HloInstruction]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    found = sorted({(one.id, operand) for one in instructions for operand in one.operands})
    return np.array(found, np.int32).reshape(-1, 2)
