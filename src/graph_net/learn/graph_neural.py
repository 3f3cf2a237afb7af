"""Cost models that are networks over graphs, trained on batches of one graph's configurations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from graph_net.compilers.option import Option
from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs
from graph_net.learn.config_set import ConfigSet, as_config_set
from graph_net.learn.cost_levels import normal_scores
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.graph_networks import JOINS, ConfigNetwork
from graph_net.learn.graph_segments import (
    GraphSegment,
    StaleTable,
    cut_segments,
    pool_segments,
    segment_configs,
)
from graph_net.learn.graph_tensors import graph_tensors
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.losses import LOSSES
from graph_net.learn.metrics import Floats, Ints
from graph_net.learn.neural import few_threads
from graph_net.learn.rank_metrics import tau_by_task
from graph_net.store.files import read_bytes

PART, TILES = "weights.safetensors", "tiles"
MOST_BYTES = 1 << 30
SCORED_AT_ONCE = 64
HEAD_CONFIGS = 256
"""Configurations that the head is tuned on after training on segments."""


@dataclass(frozen=True)
class _Trained:
    """A graph in segments, with its configurations and labels."""

    segments: list[GraphSegment]
    configs: Tensor
    labels: Tensor
    table: StaleTable | None


class _GraphNeural(CostModel):
    """Training, saving and loading, shared by all networks over graphs."""

    needs = "safetensors"
    options: ClassVar[dict[str, Option]] = {
        "loss": Option("listmle", tuple(LOSSES)),
        "join": Option("once", JOINS),
        "hops": Option(2, least=0, most=1000),
        "blocks": Option(True),
        "attention": Option(False),
        "layers": Option(2, least=1, most=16),
        "width": Option(32, least=4, most=1024),
        "epochs": Option(200, least=1, most=10_000),
        "rate": Option(2e-3, least=1e-6, most=0.1),
        "configs_of_step": Option(64, least=2, most=4096),
        "segment": Option(0, least=0, most=1 << 20),
    }
    """``hops``: neighbours of configurable nodes that are kept, 0 for all. ``blocks``: encode equal
    neighbourhoods once, unless configurations are joined early. ``segment``: nodes per segment, 0
    for none.
    """
    kind: ClassVar[str]

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        """Train; with ``held_out``, keep the epoch with the best τ on it."""
        configs = as_config_set(data, self.name)
        torch.manual_seed(self.seed)
        generator = torch.Generator().manual_seed(self.seed)
        self._tiles = not isinstance(configs.graphs[0].configs, LayoutConfigs)
        self._network = self._make()
        self.domain = Domain.of(data)
        graphs = [self._prepare(configs, task, rows) for task, rows in _tasks(configs)]
        with few_threads(self._numbers(configs)):
            self._train(graphs, generator, held_out)

    def _numbers(self, configs: ConfigSet) -> int:
        """Return the approximate number of values that a step computes."""
        nodes = max(len(graph.nodes) for graph in configs.graphs)
        return int(nodes * self.number("width") * self.number("configs_of_step"))

    def _train(
        self, graphs: list[_Trained], generator: torch.Generator, held_out: LearningSet | None
    ) -> None:
        optimizer = torch.optim.Adam(self._network.parameters(), lr=float(self.number("rate")))
        epochs = int(self.number("epochs"))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
        best, kept = -2.0, None
        for epoch in range(epochs):
            self._network.train()
            for graph, chosen in self._steps(graphs, generator):
                self._step(graph, chosen, generator, optimizer)
            schedule.step()
            if held_out is not None and (epoch % 5 == 4 or epoch == epochs - 1):
                tau = float(tau_by_task(held_out.programs, self.predict(held_out)).mean())
                if tau > best:
                    best = tau
                    kept = {k: v.clone() for k, v in self._network.state_dict().items()}
        if kept is not None:
            self._network.load_state_dict(kept)
        self._tune_head([graph for graph in graphs if graph.table is not None], generator)

    def _tune_head(self, graphs: list[_Trained], generator: torch.Generator) -> None:
        """Train the head alone on the current output of all segments, for graphs that were cut."""
        optimizer = torch.optim.Adam(self._network.head.parameters(), lr=float(self.number("rate")))
        for graph in graphs:
            chosen = torch.randperm(len(graph.labels), generator=generator)[:HEAD_CONFIGS]
            with torch.no_grad():
                parts = torch.split(graph.configs[chosen], int(self.number("configs_of_step")))
                pooled = [pool_segments(self._network, graph.segments, part) for part in parts]
            for part, labels in zip(
                pooled, torch.split(graph.labels[chosen], len(parts[0])), strict=True
            ):
                if len(labels) > 1:
                    self._descend(part, labels, optimizer)

    def _descend(self, pooled: Tensor, labels: Tensor, optimizer: torch.optim.Optimizer) -> None:
        scores = self._network.finish(pooled)[None]
        mask = torch.ones_like(scores, dtype=torch.bool)
        loss = LOSSES[str(self.settings["loss"])](scores, labels[None], mask)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self._network.parameters(), 5.0)
        optimizer.step()

    def _step(
        self,
        graph: _Trained,
        chosen: Tensor,
        generator: torch.Generator,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        number = int(torch.randint(len(graph.segments), (1,), generator=generator))
        segment, network = graph.segments[number], self._network
        codes = segment_configs(network, segment, graph.configs[chosen])
        pooled = network.pool(segment.graph, codes)
        if graph.table is not None:
            rest = graph.table.rest(chosen, number, generator)
            graph.table.put(chosen, number, pooled)
            pooled = pooled + rest
        self._descend(pooled, graph.labels[chosen], optimizer)

    def _steps(
        self, graphs: list[_Trained], generator: torch.Generator
    ) -> Iterator[tuple[_Trained, Tensor]]:
        """Yield an epoch: every configuration once, with the batches of graphs interleaved."""
        each = int(self.number("configs_of_step"))
        steps = [
            (graph, chosen)
            for graph in graphs
            for chosen in torch.split(torch.randperm(len(graph.labels), generator=generator), each)
            if len(chosen) > 1
        ]
        if not steps:
            raise LearnError("no graph has two configurations: there is nothing to rank")
        for place in torch.randperm(len(steps), generator=generator).tolist():
            yield steps[place]

    def predict(self, data: LearningSet) -> Floats:
        self.learned()
        configs = as_config_set(data, self.name)
        self._network.eval()
        scores = np.zeros(len(data))
        with few_threads(self._numbers(configs)), torch.inference_mode():
            for task, rows in _tasks(configs):
                graph = configs.graphs[task]
                segments = self._segments(graph)
                every = self._configs(graph, configs.places[rows])
                found = [
                    self._network.finish(pool_segments(self._network, segments, part))
                    for part in torch.split(every, SCORED_AT_ONCE)
                ]
                scores[rows] = torch.cat(found).numpy()
        return scores

    def _prepare(self, configs: ConfigSet, task: int, rows: Ints) -> _Trained:
        graph = configs.graphs[task]
        segments = self._segments(graph)
        ranks = -normal_scores(configs.programs.costs[rows])
        spread = float(np.ptp(ranks)) or 1.0
        labels = torch.from_numpy(((ranks - ranks.min()) / spread).astype(np.float32))
        several = len(segments) > 1
        width = int(self.number("width"))
        table = StaleTable(len(rows), len(segments), width) if several else None
        return _Trained(segments, self._configs(graph, configs.places[rows]), labels, table)

    def _segments(self, graph: ConfigGraph) -> list[GraphSegment]:
        tiles = not isinstance(graph.configs, LayoutConfigs)
        if tiles != self._tiles:
            raise LearnError(f"{graph.name} has {graph.kind}s, and {self.name} learned others")
        folded = bool(self.settings["blocks"]) and self.settings["join"] != "early"
        rounds = int(self.number("layers")) if folded else 0
        size = int(self.number("segment"))
        tensors = graph_tensors(graph, int(self.number("hops")), 0 if size else rounds)
        return cut_segments(tensors, size or tensors.size)

    def _configs(self, graph: ConfigGraph, places: Ints) -> Tensor:
        if isinstance(graph.configs, LayoutConfigs):
            return torch.from_numpy(graph.configs.codes[places].astype(np.int64))
        values = np.log2(1 + np.maximum(graph.configs.features[places], 0))
        return torch.from_numpy(values.astype(np.float32))

    def _make(self) -> ConfigNetwork:
        return ConfigNetwork(
            self.kind,
            str(self.settings["join"]),
            int(self.number("width")),
            int(self.number("layers")),
            bool(self.settings["attention"]),
            self._tiles,
        )

    def save_parts(self, folder: Path) -> None:
        from safetensors.torch import save_file

        self.learned()
        tensors = dict(self._network.state_dict())
        tensors[TILES] = torch.tensor([float(self._tiles)])
        save_file(tensors, folder / PART)

    def load_parts(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            tensors = load(read_bytes(folder / PART, MOST_BYTES))
            self._tiles = bool(tensors.pop(TILES).item())
            self._network = self._make()
            self._network.load_state_dict(tensors)
        except OSError as error:
            raise LearnError(f"{folder} has no {PART}") from error
        except (SafetensorError, KeyError, RuntimeError, TypeError) as error:
            raise LearnError(f"{folder / PART} does not fit a model {self.name}") from error


def _tasks(configs: ConfigSet) -> list[tuple[int, Ints]]:
    return list(enumerate(configs.programs.rows()))


class GraphMlp(_GraphNeural):
    """An MLP on nodes, without messages."""

    name, kind = "graph_mlp", "mlp"


class Gcn(_GraphNeural):
    """Graph convolutions with residuals."""

    name, kind = "gcn", "gcn"


class GraphSage(_GraphNeural):
    """GraphSAGE, with three layers by default like TpuGraphs' baseline."""

    name, kind = "graphsage", "sage"
    options: ClassVar[dict[str, Option]] = {
        **_GraphNeural.options,
        "layers": Option(3, least=1, most=16),
    }
