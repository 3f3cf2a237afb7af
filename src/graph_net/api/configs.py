"""Layouts and tiles of whole graphs: read TpuGraphs' files, and make its columns of any graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.configs.config_graph import ConfigGraph, NodeTable
    from graph_net.graph import Graph


def read_configs(path: str | Path) -> list[ConfigGraph]:
    """Return the graphs of TpuGraphs' npz or protobuf file, or of all in a folder.

    Each has its nodes as numbers, its distinct configurations as codes, and every run. Nothing is
    unpickled or executed.
    """
    from graph_net.configs.files import find_files, stream_graphs
    from graph_net.store.lines import ReadError

    files = find_files([Path(path)])
    if not files:
        raise ReadError(f"{path} holds no file of TpuGraphs (.npz, .pb)")
    return list(stream_graphs(files))


def featurise(graph: Graph, *, absent: float = 0.0) -> NodeTable:
    """Return a graph of torch operators as TpuGraphs' 140 columns, opcodes and edges.

    ``absent`` pads lists of dimensions: 0 as TpuGraphs does, or -1 to tell "absent" from
    "dimension 0".
    """
    from graph_net.configs.featurise import featurise as columns_of

    return columns_of(graph, absent)
