"""The tensors that configurable nodes read and write, and the nodes that connect them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.config_graph import DIMENSIONS, TENSORS, Ints, NodeTable
from graph_net.formats.tpugraphs.node_columns import COLUMNS, LAYOUT, SHAPE
from graph_net.formats.tpugraphs.opcodes import CONVOLUTION

FARTHEST = 64
"""Most nodes visited between a consumer and its producer."""
_WINDOW = COLUMNS.index("window_size_0")
_KERNEL_SPATIAL = COLUMNS.index("convolution_kernel_spatial_dims_0")
_ITEM_BYTES = np.array([1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 0, 0, 0], np.float64)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TensorLink:
    """A tensor that a configurable node reads, and the node that decides its order.

    ``producer`` and ``consumer`` are indices among the configurable nodes; a tensor that no
    configurable node wrote has the order of the graph instead.
    """

    consumer: int
    tensor: int
    """1 is the input, 2 the kernel."""
    producer: int | None
    order: tuple[int, ...]
    bytes: float


def operand_lists(nodes: NodeTable) -> list[list[int]]:
    """Return the operands of each node."""
    found: list[list[int]] = [[] for _ in range(len(nodes))]
    for consumer, other in nodes.edges.tolist():
        found[consumer].append(other)
    return found


def tensor_shapes(nodes: NodeTable, configurable: Ints) -> Floats:
    """Return the sizes of output, input and kernel of each configurable node, 0 if absent."""
    sizes, operands = nodes.features[:, SHAPE], operand_lists(nodes)
    found = np.zeros((len(configurable), TENSORS, DIMENSIONS))
    for place, node in enumerate(configurable.tolist()):
        found[place, 0] = sizes[node]
        for tensor, operand in enumerate(sort_operands(nodes, node, operands[node])[:2], 1):
            found[place, tensor] = sizes[operand]
    return found


def sort_operands(nodes: NodeTable, node: int, operands: list[int]) -> list[int]:
    """Return operands with the input first; the edges of a file do not say which is which.

    The kernel of a convolution is the operand whose spatial sizes are those of the window.
    """
    if nodes.opcodes[node] != CONVOLUTION or len(operands) != 2:
        return operands
    row = nodes.features[node]
    window = row[_WINDOW : _WINDOW + 4]
    spatial = row[_KERNEL_SPATIAL : _KERNEL_SPATIAL + 4].astype(np.int64).clip(0, DIMENSIONS - 1)
    count = int((window > 0).sum())
    fits = [
        bool((nodes.features[one, SHAPE][spatial[:count]] == window[:count]).all())
        for one in operands
    ]
    return operands[::-1] if fits == [True, False] else operands


def find_links(nodes: NodeTable, configurable: Ints, shapes: Floats) -> list[TensorLink]:
    """Return the links of all tensors that configurable nodes read.

    From each operand, nodes of the same sizes are followed back: an elementwise call keeps the
    order of its operand. If none of them is configurable, the last one's own order counts.
    """
    places = {node: place for place, node in enumerate(configurable.tolist())}
    operands = operand_lists(nodes)
    types = nodes.features[:, 2:21].argmax(axis=1)
    found = []
    for consumer, node in enumerate(configurable.tolist()):
        for tensor, operand in enumerate(sort_operands(nodes, node, operands[node])[:2], 1):
            size = float(
                np.maximum(shapes[consumer, tensor], 1).prod() * _ITEM_BYTES[types[operand]]
            )
            producers, last = _producers(nodes, operand, operands, places)
            order = tuple(int(one) for one in nodes.features[last, LAYOUT])
            found += [TensorLink(consumer, tensor, one, order, size) for one in producers or [None]]
    return found


def _producers(
    nodes: NodeTable, start: int, operands: list[list[int]], places: dict[int, int]
) -> tuple[list[int | None], int]:
    """Return the configurable nodes behind a tensor, and the last node visited."""
    shape = nodes.features[start, SHAPE]
    seen, waiting, found, last = {start}, [start], list[int | None](), start
    while waiting and len(seen) <= FARTHEST:
        node = last = waiting.pop(0)
        if node in places:
            found.append(places[node])
            continue
        for one in operands[node]:
            if one not in seen and (nodes.features[one, SHAPE] == shape).all():
                seen.add(one)
                waiting.append(one)
    return found, last
