"""A ConfigGraph as tensors: scaled features, edges in both directions, configurable nodes.

A pruned graph has its configurable nodes and their neighbours within ``hops``. In a folded graph,
nodes with equal neighbourhoods are one node, so a repeated layer is encoded once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graph_net.configs.config_graph import ConfigGraph, Floats32, LayoutConfigs, NodeTable

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class GraphTensors:
    """A graph: whole, pruned or folded."""

    features: Tensor
    opcodes: Tensor
    edges: Tensor
    """Two rows: consumer, operand."""
    edge_weights: Tensor
    copies: Tensor
    """How many nodes of the graph each node stands for."""
    configured: Tensor
    """Indices of the configurable nodes; empty for a kernel with tiles."""
    settings: Tensor
    """Layout settings by code: eighteen slots from 0 (absent) to 6."""

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.opcodes)


def scaled_features(nodes: NodeTable) -> Floats32:
    """Return features as sign(x) · log2(1 + |x|)."""
    values = nodes.features
    return np.asarray(np.sign(values) * np.log2(1 + np.abs(values)), np.float32)


def graph_tensors(graph: ConfigGraph, hops: int = 0, rounds: int = 0) -> GraphTensors:
    """Return a graph's tensors; pruned to ``hops`` and folded after ``rounds`` if they are not 0.

    ``rounds`` is the number of layers: nodes that this many layers cannot distinguish are merged.
    """
    nodes, places, table = graph.nodes, np.zeros(0, np.int64), np.zeros((0, 18), np.int64)
    if isinstance(graph.configs, LayoutConfigs):
        places = graph.configs.nodes
        table = graph.configs.settings.astype(np.int64) + 1
    kept = near_nodes(nodes, places, hops) if hops and places.size else np.arange(len(nodes))
    moved = np.full(len(nodes), -1)
    moved[kept] = np.arange(kept.size)
    edges = moved[nodes.edges]
    edges = edges[(edges >= 0).all(axis=1)]
    features, opcodes = scaled_features(nodes)[kept], nodes.opcodes[kept].astype(np.int64)
    classes = fold_nodes(features, opcodes, edges, rounds) if rounds else np.arange(kept.size)
    return _assemble(features, opcodes, edges, classes, moved[places], table)


def near_nodes(nodes: NodeTable, start: Ints, hops: int) -> Ints:
    """Return the nodes within this many edges of ``start``, in either direction."""
    reached = np.zeros(len(nodes), bool)
    reached[start] = True
    for _ in range(hops):
        consumer, other = nodes.edges[:, 0], nodes.edges[:, 1]
        more = reached.copy()
        more[other[reached[consumer]]] = True
        more[consumer[reached[other]]] = True
        reached = more
    return np.flatnonzero(reached)


def fold_nodes(features: Floats32, opcodes: Ints, edges: Ints, rounds: int) -> Ints:
    """Return the class of each node: equal for nodes with equal neighbourhoods of ``rounds`` edges.

    Colour refinement: a new colour combines a node's colour with the sums, over its neighbours in
    either direction, of a random number per colour.
    """
    draw = np.random.default_rng(0)
    rows = np.concatenate([features, opcodes[:, None].astype(np.float32)], axis=1)
    colours = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    for _ in range(rounds):
        numbers = draw.integers(1, 1 << 40, (2, int(colours.max()) + 1))
        below = np.zeros(len(colours), np.int64)
        above = np.zeros(len(colours), np.int64)
        np.add.at(below, edges[:, 0], numbers[0][colours[edges[:, 1]]])
        np.add.at(above, edges[:, 1], numbers[1][colours[edges[:, 0]]])
        joined = np.stack([colours, below, above], axis=1)
        colours = np.unique(joined, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(colours, np.int64)


def _assemble(
    features: Floats32, opcodes: Ints, edges: Ints, classes: Ints, configured: Ints, table: Ints
) -> GraphTensors:
    """Return the graph of classes: one node per class, with edge multiplicities."""
    _, first, copies = np.unique(classes, return_index=True, return_counts=True)
    is_first = np.zeros(len(classes), bool)
    is_first[first] = True
    pairs, weights = _class_edges(edges, classes, is_first)
    return GraphTensors(
        torch.from_numpy(features[first]),
        torch.from_numpy(opcodes[first]),
        torch.from_numpy(pairs),
        torch.from_numpy(weights),
        torch.from_numpy(copies.astype(np.float32)),
        torch.from_numpy(classes[configured]),
        torch.from_numpy(table),
    )


def _class_edges(
    edges: Ints, classes: Ints, is_first: NDArray[np.bool_]
) -> tuple[Ints, NDArray[np.float32]]:
    """Return the messages (to, from) that the first node of each class receives, with multiplicity.

    The first half comes from a node's operands; the second, shifted by the number of classes, from
    its consumers.
    """
    count = int(classes.max()) + 1
    below = edges[is_first[edges[:, 0]]]
    above = edges[is_first[edges[:, 1]]]
    found = np.concatenate(
        [
            np.stack([classes[below[:, 0]], classes[below[:, 1]]], axis=1),
            np.stack([classes[above[:, 1]] + count, classes[above[:, 0]]], axis=1),
        ]
    )
    pairs, often = np.unique(found, axis=0, return_counts=True)
    return np.ascontiguousarray(pairs.T.reshape(2, -1)), often.astype(np.float32)
