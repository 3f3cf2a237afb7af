"""Configurations of small graphs for the cost-model kit: ``check_cost_model(Mine, data=…)``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs, NodeTable, TileConfigs
from graph_net.formats.tpugraphs.opcodes import CONVOLUTION, COPY, NUMBERS, PARAMETER
from graph_net.learn.config_set import ConfigSet
from graph_net.learn.learning_set import LearningTask
from graph_net.learn.metrics import TaskCosts
from graph_net.learn.read_configs import graph_rows


def easy_layouts(name: str, seed: int = 0, nodes: int = 6, configs: int = 48) -> ConfigGraph:
    """Return a chain of convolutions whose settings have additive costs; one decides a level."""
    draw, size = np.random.default_rng(seed), 2 * nodes
    features = np.zeros((size, 140), np.float32)
    features[:, 13] = 1  # float32
    features[:, 21:25] = draw.choice([8, 32, 128], (size, 4))
    is_convolution = np.arange(size) % 2 == 1
    opcodes = np.where(is_convolution, CONVOLUTION, NUMBERS["add"]).astype(np.uint8)
    edges = np.stack([np.arange(1, size), np.arange(size - 1)], axis=1).astype(np.int32)
    settings = np.full((4, 18), -1, np.int8)
    settings[:, :2] = [(0, 1), (1, 0), (2, 1), (3, 2)]
    codes = np.unique(draw.integers(0, 4, (4 * configs, nodes)), axis=0)
    chosen = draw.permutation(codes)[:configs].astype(np.uint8)
    costs = 1e6 + 1e4 * chosen.sum(axis=1) + 1e6 * (chosen[:, 0] == 3)
    table = NodeTable(features, opcodes, edges, np.array([0, size]))
    layouts = LayoutConfigs(np.flatnonzero(is_convolution), settings, chosen)
    runs = np.arange(len(chosen), dtype=np.int32)
    return ConfigGraph(name, table, layouts, runs, costs.astype(np.int64))


def easy_tiles(name: str, seed: int = 0, configs: int = 40) -> ConfigGraph:
    """Return a kernel whose cost is the waste of its tiles plus an overhead per tile."""
    draw = np.random.default_rng(seed)
    bounds = np.concatenate([draw.integers(1, 17, (configs, 2)), [(16, 16)]])
    bounds = np.unique(bounds, axis=0)
    rows = np.zeros((len(bounds), 24), np.float32)
    rows[:, 8:10] = bounds
    tiles = np.ceil(16 / bounds)
    costs = 1e4 * (tiles * bounds).prod(axis=1) + 2e5 * tiles.prod(axis=1)
    features = np.zeros((2, 140), np.float32)
    table = NodeTable(features, np.array([PARAMETER, COPY], np.uint8), np.array([(1, 0)], np.int32))
    runs = np.arange(len(bounds), dtype=np.int32)
    return ConfigGraph(name, table, TileConfigs(rows), runs, costs.astype(np.int64))


def config_set(graphs: Sequence[ConfigGraph]) -> ConfigSet:
    """Return graphs as a set with hand-made features."""
    found = [graph_rows(graph) for graph in graphs]
    counts = [len(graph.configs) for graph in graphs]
    costs = np.concatenate([graph.costs() for graph in graphs])
    return ConfigSet(
        found[0][0],
        np.concatenate([rows for _, rows in found]),
        np.arange(len(costs) + 1),
        TaskCosts.of(costs, np.repeat(np.arange(len(graphs)), counts)),
        tuple(LearningTask(graph.name, str(graph.kind), "TPU v3") for graph in graphs),
        tuple(graphs),
        np.concatenate([np.arange(count) for count in counts]),
        np.concatenate([graph.repeats for graph in graphs]),
    )
