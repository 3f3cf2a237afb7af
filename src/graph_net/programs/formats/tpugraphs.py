"""TpuGraphs' runs as programs: a graph is a task, a layout or a tile is a schedule of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graph_net.configs.config_programs import graph_programs
from graph_net.configs.files import read_graphs
from graph_net.results import Program, RecordError
from graph_net.store.lines import Damage, Place

WITHHELD = "its run times are withheld, as those of TpuGraphs' test files are"


def read_tpugraphs(path: Path) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield a program for each distinct configuration; ``line`` is its number in the file."""
    line = 0
    for graph in read_graphs(path):
        if not graph.has_labels:
            yield Place(line + 1, 0), Damage(f"{graph.name}: {WITHHELD}")
            continue
        try:
            for program in graph_programs(graph):
                line += 1
                yield Place(line, 0), program
        except RecordError as error:
            yield Place(line + 1, 0), Damage(str(error))
