"""TpuGraphs' files for PyTorch and torch-geometric: a graph once, its configurations in batches.

A batch holds the codes of its configurations and, on request, the eighteen slots of its nodes.
Memory holds one graph and one batch, never all expanded configurations.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs
from graph_net.configs.files import ConfigFile, find_files, read_graphs


@dataclass(frozen=True)
class ConfigBatch:
    """Some configurations of a graph, with their median run times in seconds (0 if withheld)."""

    name: str
    features: Tensor
    opcodes: Tensor
    edges: Tensor
    """Shape (2, edges): consumer, operand."""
    config_nodes: Tensor
    """Configurable nodes; empty for tiles."""
    configs: Tensor
    """Slots (configurations, nodes, 18) as int8, -1 if absent; or tile features (…, 24)."""
    seconds: Tensor


class ConfigDataset(IterableDataset[ConfigBatch]):
    """Batches of the graphs of files, in random order; workers share the files."""

    def __init__(
        self, source: Path | str | Sequence[ConfigFile], batch: int = 64, seed: int = 0
    ) -> None:
        super().__init__()
        self.files = find_files([Path(source)]) if isinstance(source, str | Path) else list(source)
        self.batch, self.seed, self.epoch = batch, seed, 0

    def __iter__(self) -> Iterator[ConfigBatch]:
        worker = get_worker_info()
        place, count = (worker.id, worker.num_workers) if worker else (0, 1)
        draw = np.random.default_rng((self.seed, self.epoch))
        order = draw.permutation(len(self.files))[place::count]
        for number in order.tolist():
            for graph in read_graphs(self.files[number]):
                yield from graph_batches(graph, self.batch, draw)


def graph_batches(
    graph: ConfigGraph, size: int, draw: np.random.Generator | None = None
) -> Iterator[ConfigBatch]:
    """Yield the distinct configurations of a graph in batches, shuffled if ``draw`` is given."""
    count = len(graph.configs)
    order = np.arange(count) if draw is None else draw.permutation(count)
    nodes = graph.nodes
    tensors = (
        torch.from_numpy(np.array(nodes.features)),
        torch.from_numpy(nodes.opcodes.astype(np.int64)),
        torch.from_numpy(np.ascontiguousarray(nodes.edges.T).astype(np.int64)),
    )
    costs, configs = graph.costs(), graph.configs
    is_layout = isinstance(configs, LayoutConfigs)
    places = configs.nodes if isinstance(configs, LayoutConfigs) else np.zeros(0, np.int64)
    for start in range(0, count, size):
        wanted = order[start : start + size]
        spelled: Any = configs.slots(wanted) if is_layout else configs.take(wanted).features  # type: ignore[union-attr]
        yield ConfigBatch(
            graph.name,
            *tensors,
            torch.from_numpy(np.array(places)),
            torch.from_numpy(np.ascontiguousarray(spelled)),
            torch.from_numpy(costs[wanted]),
        )


def to_pyg(batch: ConfigBatch) -> Any:
    """Return a batch as torch-geometric's Data: one graph with all its configurations."""
    try:
        data: Any = importlib.import_module("torch_geometric.data")
    except ImportError as error:
        raise ImportError(
            "torch-geometric is not installed: pip install torch-geometric"
        ) from error
    return data.Data(
        x=batch.features,
        edge_index=batch.edges.flip(0),
        opcode=batch.opcodes,
        config_nodes=batch.config_nodes,
        configs=batch.configs,
        y=batch.seconds,
        name=batch.name,
    )
