"""TpuGraphs' npz files as ConfigGraphs; (configurations, nodes, 18) is never in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graph_net.configs.config_graph import SLOTS, ConfigGraph, NodeTable, TileConfigs
from graph_net.configs.layout_codes import LayoutCoder, merge_rows
from graph_net.formats.tpugraphs.npz import ArrayLimit, NpzReader, open_npz
from graph_net.store.lines import ReadError

MOST_NODES = 1 << 18
"""Most nodes of a graph; TpuGraphs' largest has about 50,000."""
MOST_RUNS = 1 << 24
LIMITS = {
    "node_feat": ArrayLimit("<f4", (None, 140), MOST_NODES * 560),
    "node_opcode": ArrayLimit("|u1", (None,), MOST_NODES),
    "edge_index": ArrayLimit("<i8", (None, 2), MOST_NODES * 16 * 16),
    "config_runtime": ArrayLimit("<i8", (None,), MOST_RUNS * 8),
    "config_runtime_normalizers": ArrayLimit("<i8", (None,), MOST_RUNS * 8),
    "config_feat": ArrayLimit("<f4", (None, 24), MOST_RUNS * 96),
    "node_config_ids": ArrayLimit("<i8", (None,), MOST_NODES * 8),
    "node_config_feat": ArrayLimit("<f4", (None, None, SLOTS), 1 << 38),
    "node_splits": ArrayLimit("<i8", (1, None), MOST_NODES * 8),
}


def read_npz(path: Path, name: str = "", collection: str = "", split: str = "") -> ConfigGraph:
    """Return the graph of a file; raise ReadError, naming the file, if it is invalid."""
    with open_npz(path, LIMITS) as npz:
        is_layout = "node_config_feat" in npz.names
        nodes = _nodes(npz, is_layout)
        read = _layouts if is_layout else _tiles
        graph = read(npz, name or path.stem, nodes)
    return ConfigGraph(
        graph.name, nodes, graph.configs, graph.run_config, graph.run_ns, graph.normalizers,
        None, collection, split,
    )  # fmt: skip


def _nodes(npz: NpzReader, is_layout: bool) -> NodeTable:
    edges = npz.read("edge_index")
    if edges.size and not 0 <= edges.min() <= edges.max() < MOST_NODES:
        raise ReadError("an edge leads out of the graph")
    splits = npz.read("node_splits")[0] if is_layout else np.zeros(0, np.int64)
    return NodeTable(npz.read("node_feat"), npz.read("node_opcode"), edges.astype(np.int32), splits)


def _layouts(npz: NpzReader, name: str, nodes: NodeTable) -> ConfigGraph:
    ids = npz.read("node_config_ids")
    if ids.size and not 0 <= ids.min() <= ids.max() < len(nodes):
        raise ReadError(f"a configurable node is not among the {len(nodes)} nodes")
    shape = npz.shape("node_config_feat")
    if shape[1] != len(ids):
        raise ReadError(f"layouts of {shape[1]} nodes, of which {len(ids)} are named")
    if not shape[1] or shape[0] > MOST_RUNS:
        raise ReadError(f"{shape[0]} configurations of {shape[1]} nodes")
    coder = LayoutCoder(ids)
    places = [coder.add(rows) for rows in npz.rows("node_config_feat")]
    of_runs = np.concatenate(places) if places else np.zeros(0, np.int32)
    return ConfigGraph(name, nodes, coder.finish(), of_runs, npz.read("config_runtime"))


def _tiles(npz: NpzReader, name: str, nodes: NodeTable) -> ConfigGraph:
    rows = npz.read("config_feat")
    places, first = merge_rows(row.tobytes() for row in rows)
    normalizers = npz.read("config_runtime_normalizers")
    if len(normalizers) != len(rows):
        raise ReadError(f"{len(normalizers)} normalizers for {len(rows)} runs")
    configs = TileConfigs(rows[first])
    return ConfigGraph(name, nodes, configs, places, npz.read("config_runtime"), normalizers)
