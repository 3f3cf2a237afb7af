"""A pack whose graphs are given the values their models would begin with, and nothing else new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from graph_net.capture.initial_values import OPTION, with_initial_values
from graph_net.corpus.pack import Pack, write_part
from graph_net.graph import Graph, Normal, Recipe, Role, TensorSpec, from_bytes, to_bytes

Initial = Callable[[str, str], Mapping[str, Recipe]]
"""Gives what was heard of a library's model, by the names of its parameters."""


def revalue(pack: Pack, output: Path, initial: Initial) -> Iterator[Counter[str]]:
    """Write the pack's parts to another directory, one after the other, with new recipes.

    Gives for each part how many graphs have their values from where. A part that is there already
    is passed over, so that a killed run goes on; one part is in memory at a time. The other columns
    stay: none of them depends on recipes.
    """
    pack.check([*pack.columns, "graph"], together=False)
    output.mkdir(parents=True, exist_ok=True)
    for part in pack.parts:
        if not (output / part.name).exists():
            yield _revalue_part(part, output / part.name, initial, pack)


def _revalue_part(source: Path, target: Path, initial: Initial, pack: Pack) -> Counter[str]:
    table = pq.read_table(source)
    found: Counter[str] = Counter()
    blobs = []
    for data in table["graph"]:
        graph = revalue_graph(from_bytes(data.as_py(), pack.limits), initial)
        blobs.append(to_bytes(graph))
        found[str(graph.provenance.option(OPTION, "as they were"))] += 1
    position = table.schema.get_field_index("graph")
    field = table.schema.field(position)
    write_part(target, table.set_column(position, field, [blobs]))
    return found


def revalue_graph(graph: Graph, initial: Initial) -> Graph:
    """The graph with the values its model begins with, those it was given before forgotten."""
    origin = graph.provenance
    return with_initial_values(_forgotten(graph), initial(origin.library, origin.model))


def _forgotten(graph: Graph) -> Graph:
    if graph.provenance.option(OPTION) is None:
        return graph
    inputs = tuple(
        replace(entry, recipe=Normal(0.0, 1.0))
        if entry.role is Role.PARAMETER and isinstance(entry.spec, TensorSpec)
        else entry
        for entry in graph.inputs
    )
    return replace(graph, inputs=inputs)
