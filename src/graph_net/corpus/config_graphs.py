"""TpuGraphs' files as the graphs of a pack, or as one graph chosen by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from graph_net.configs.files import ConfigFile, read_graphs
from graph_net.configs.hlo_graph import hlo_graph
from graph_net.corpus.columns import row_of
from graph_net.corpus.import_samples import SampleResult
from graph_net.graph import Graph, GraphError
from graph_net.store.lines import ReadError


def config_rows(file: ConfigFile, there: Collection[str]) -> Iterator[SampleResult]:
    """Yield the rows of a file's graphs; a graph in ``there`` has neither a row nor a reason."""
    if file.path.suffix == ".npz" and file.name in there:
        yield SampleResult(file.name)
        return
    try:
        for graph in read_graphs(file):
            fresh = graph.name not in there
            yield SampleResult(graph.name, row_of(graph.name, hlo_graph(graph)) if fresh else None)
    except (ReadError, GraphError, OSError) as error:
        yield SampleResult(file.name, reason=str(error))


def open_config_graph(path: Path, name: str = "") -> tuple[str, Graph]:
    """Return the graph of a file, or the graph with this name if the file has several."""
    names = []
    for graph in read_graphs(path):
        names.append(graph.name)
        if name == graph.name or (not name and path.suffix == ".npz"):
            return graph.name, hlo_graph(graph)
    if len(names) == 1 and not name:
        return names[0], hlo_graph(next(read_graphs(path)))
    some = ", ".join(f"{path}:{one}" for one in names[:3])
    raise GraphError(f"{path} holds {len(names)} graphs; name one: {some}")
