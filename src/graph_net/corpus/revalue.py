"""A copy of a pack with its models' initial values as recipes."""

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
"""Returns the initial recipes of a library's model, by parameter name."""


def revalue(pack: Pack, output: Path, initial: Initial) -> Iterator[Counter[str]]:
    """Write the pack's parts to another directory, with new recipes.

    Yield for each part how many graphs have their values from which source. An existing part is
    skipped, so that a killed run can resume; one part is in memory at a time. The other columns do
    not depend on recipes.
    """
    pack.check([*pack.columns, "graph"], together=False)
    output.mkdir(parents=True, exist_ok=True)
    for part in pack.parts:
        if not (output / part.name).exists():
            yield _revalue_part(part, output / part.name, initial, pack)


def _revalue_part(source: Path, target: Path, initial: Initial, pack: Pack) -> Counter[str]:
    table = pq.read_table(source)
    sources: Counter[str] = Counter()
    blobs = []
    for data in table["graph"]:
        graph = revalue_graph(from_bytes(data.as_py(), pack.limits), initial)
        blobs.append(to_bytes(graph))
        sources[str(graph.provenance.option(OPTION, "as they were"))] += 1
    position = table.schema.get_field_index("graph")
    field = table.schema.field(position)
    write_part(target, table.set_column(position, field, [blobs]))
    return sources


def revalue_graph(graph: Graph, initial: Initial) -> Graph:
    """Return the graph with its model's initial values, replacing earlier ones."""
    origin = graph.provenance
    return with_initial_values(_forget_values(graph), initial(origin.library, origin.model))


def _forget_values(graph: Graph) -> Graph:
    if graph.provenance.option(OPTION) is None:
        return graph
    inputs = tuple(
        replace(entry, recipe=Normal(0.0, 1.0))
        if entry.role is Role.PARAMETER and isinstance(entry.spec, TensorSpec)
        else entry
        for entry in graph.inputs
    )
    return replace(graph, inputs=inputs)
