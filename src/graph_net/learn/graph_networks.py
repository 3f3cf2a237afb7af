"""Networks over graphs that score configurations: MLP, GCN with residuals, GraphSAGE.

``early`` joins a configuration to its nodes before the layers, so the graph is encoded per
configuration; ``once`` encodes the graph alone and joins configurations at their nodes; ``late``
joins them after pooling. Attention, if enabled, is between the configurations of a batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graph_net.learn.graph_tensors import GraphTensors

OPCODES, FEATURES, TILE = 128, 140, 24
SLOTS, VALUES = 18, 7
JOINS = ("once", "early", "late")
LAYERS = ("sage", "gcn", "mlp")


class MessageLayer(nn.Module):
    """One layer: a node's own state, the mean of its operands, the mean of its consumers."""

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.kind = kind
        self.own = nn.Linear(width, width)
        parts = 2 if kind == "sage" else 1
        self.near = nn.Linear(parts * width, width, bias=False) if kind != "mlp" else None
        self.norm = nn.LayerNorm(width)

    def forward(self, states: Tensor, graph: GraphTensors) -> Tensor:
        """Return new states; ``states`` is (…, nodes, width)."""
        found = self.own(states)
        if self.near is not None:
            below, above = gather_messages(states, graph)
            joined = torch.cat([below, above], -1) if self.kind == "sage" else (below + above) / 2
            found = found + self.near(joined)
        return states + torch.relu(torch.as_tensor(self.norm(found)))


def gather_messages(states: Tensor, graph: GraphTensors) -> tuple[Tensor, Tensor]:
    """Return the means over the operands of nodes and over their consumers."""
    count = graph.size
    target, source = graph.edges
    shape = (*states.shape[:-2], 2 * count, states.shape[-1])
    weights = graph.edge_weights
    total = states.new_zeros(2 * count).index_add(0, target, weights).clamp(min=1.0)
    messages = states.index_select(-2, source) * weights[:, None]
    summed = states.new_zeros(shape).index_add(-2, target, messages) / total[:, None]
    return summed[..., :count, :], summed[..., count:, :]


class ConfigNetwork(nn.Module):
    """Scores configurations of a graph; higher is faster."""

    def __init__(
        self, kind: str, join: str, width: int, layers: int, attention: bool, tiles: bool
    ) -> None:
        super().__init__()
        self.join, self.tiles = join, tiles
        self.opcodes = nn.Embedding(OPCODES, width)
        self.features = nn.Linear(FEATURES, width)
        self.slots = nn.Embedding(SLOTS * VALUES, width)
        self.tile = nn.Sequential(nn.Linear(TILE, width), nn.ReLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(MessageLayer(kind, width) for _ in range(layers))
        self.at_node = nn.Sequential(
            nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True) if attention else None
        self.head = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, graph: GraphTensors, configs: Tensor) -> Tensor:
        """Return scores; ``configs`` are codes (configurations, nodes) or tile features."""
        return self.finish(self.pool(graph, configs))

    def pool(self, graph: GraphTensors, configs: Tensor) -> Tensor:
        """Return (configurations, 3, width): sums over all and configured nodes, and counts."""
        states = self.encode(graph, configs)
        joined = self.join_configs(states, graph, configs)
        whole = (states * graph.copies[:, None]).sum(-2)
        whole = whole.expand(len(configs), -1) if whole.dim() == 1 else whole
        count = torch.stack([graph.copies.sum(), configs.new_tensor(len(graph.configured)).float()])
        counts = torch.zeros_like(whole)
        counts[:, :2] = count
        return torch.stack([whole, joined, counts], dim=1)

    def encode(self, graph: GraphTensors, configs: Tensor) -> Tensor:
        """Return states of nodes, one set per configuration if joined early."""
        states = self.features(graph.features) + self.opcodes(graph.opcodes)
        if self.join == "early":
            shape = (len(configs), *states.shape)
            states = states.expand(shape)
            if self.tiles:
                states = states + self.tile(configs)[:, None]
            else:
                added = self.setting_vectors(graph)[configs]
                states = states.index_add(1, graph.configured, added)
        for layer in self.layers:
            states = layer(states, graph)
        return torch.as_tensor(states)

    def setting_vectors(self, graph: GraphTensors) -> Tensor:
        """Return a vector for each setting of the table, from one embedding per slot value."""
        places = torch.arange(SLOTS, device=graph.settings.device) * VALUES + graph.settings
        return torch.as_tensor(self.slots(places).sum(dim=1))

    def join_configs(self, states: Tensor, graph: GraphTensors, configs: Tensor) -> Tensor:
        """Return the joined states of configured nodes, summed per configuration."""
        if self.tiles:
            return torch.as_tensor(self.tile(configs))
        vectors = self.setting_vectors(graph)[configs]
        if self.join == "late":
            return vectors.sum(dim=1)
        near = states.index_select(-2, graph.configured)
        near = near.expand(vectors.shape) if near.dim() == 2 else near
        return torch.as_tensor(self.at_node(torch.cat([near, vectors], -1)).sum(dim=1))

    def finish(self, pooled: Tensor) -> Tensor:
        """Return the scores of pooled configurations, from means and from sums as magnitudes."""
        whole, joined, counts = pooled.unbind(1)
        nodes, configured = counts[:, :1].clamp(min=1.0), counts[:, 1:2].clamp(min=1.0)
        means = whole / nodes
        centred = joined / configured
        if self.attention is not None:
            seen, _ = self.attention(
                centred[None], centred[None], centred[None], need_weights=False
            )
            centred = centred + seen[0]
        scaled = joined / configured.sqrt()
        return torch.as_tensor(self.head(torch.cat([means, centred, scaled], -1))).squeeze(-1)
