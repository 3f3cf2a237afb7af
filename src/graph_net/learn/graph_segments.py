"""Graph Segment Training, for graphs that do not fit in memory.

A graph is cut in the topological order of its nodes. A step backpropagates through one segment
only; the outputs of the others come from a table of earlier outputs, each of which is dropped with
some probability. Memory is that of one segment, however large the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from graph_net.learn.graph_networks import ConfigNetwork
from graph_net.learn.graph_tensors import GraphTensors

DROPPED = 0.5
"""Probability of dropping a stale entry, as in the paper."""


@dataclass(frozen=True)
class GraphSegment:
    """Some nodes of a graph with the edges among them."""

    graph: GraphTensors
    columns: Tensor
    """The configurable nodes inside, as columns of the codes."""


def cut_segments(graph: GraphTensors, size: int) -> list[GraphSegment]:
    """Return a graph in segments of at most ``size`` nodes."""
    if graph.size <= size:
        return [GraphSegment(graph, torch.arange(len(graph.configured)))]
    bounds = np.linspace(0, graph.size, -(-graph.size // size) + 1).astype(int).tolist()
    return [_segment(graph, a, b) for a, b in pairwise(bounds)]


def _segment(graph: GraphTensors, start: int, end: int) -> GraphSegment:
    target, source = graph.edges
    direction, node = target // graph.size, target % graph.size
    inside = (node >= start) & (node < end) & (source >= start) & (source < end)
    edges = torch.stack(
        [(node - start + direction * (end - start))[inside], (source - start)[inside]]
    )
    mine = ((graph.configured >= start) & (graph.configured < end)).nonzero()[:, 0]
    part = GraphTensors(
        graph.features[start:end],
        graph.opcodes[start:end],
        edges,
        graph.edge_weights[inside],
        graph.copies[start:end],
        graph.configured[mine] - start,
        graph.settings,
    )
    return GraphSegment(part, mine)


class StaleTable:
    """The latest output of each segment for each configuration, in half precision."""

    def __init__(self, configs: int, segments: int, width: int) -> None:
        self._values = torch.zeros(configs, segments, 3, width, dtype=torch.float16)
        self._known = torch.zeros(configs, segments, dtype=torch.bool)

    def put(self, configs: Tensor, segment: int, pooled: Tensor) -> None:
        """Store the output of a segment."""
        limit = torch.finfo(torch.float16).max
        values = pooled.detach().clamp(-limit, limit).to("cpu", torch.float16)
        self._values[configs, segment] = values
        self._known[configs, segment] = True

    def rest(self, configs: Tensor, segment: int, generator: torch.Generator) -> Tensor:
        """Return the sum of the other segments' outputs, some dropped and the rest scaled up."""
        values, known = self._values[configs].float(), self._known[configs]
        kept = torch.rand(known.shape, generator=generator) >= DROPPED
        weights = (known & kept).float() / (1 - DROPPED)
        weights[:, segment] = 0.0
        summed = (values * weights[:, :, None, None]).sum(dim=1)
        # Counts are exact: only embeddings are stale.
        every = known.float()
        every[:, segment] = 0.0
        summed[:, 2] = (values[:, :, 2] * every[:, :, None]).sum(dim=1)
        return summed


def pool_segments(
    network: ConfigNetwork, segments: Sequence[GraphSegment], configs: Tensor
) -> Tensor:
    """Return the summed outputs of all segments; without gradients, one is in memory at a time."""
    total: Tensor | None = None
    for segment in segments:
        pooled = network.pool(segment.graph, segment_configs(network, segment, configs))
        total = pooled if total is None else total + pooled
    assert total is not None
    return total


def segment_configs(network: ConfigNetwork, segment: GraphSegment, configs: Tensor) -> Tensor:
    """Return the codes of a segment's nodes; tile features apply to the whole kernel."""
    return configs if network.tiles else configs[:, segment.columns.to(configs.device)]
