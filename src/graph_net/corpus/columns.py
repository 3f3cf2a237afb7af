"""The columns of a pack: the facts about a graph that are known without reading it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from graph_net.graph import Graph, TensorSpec, to_bytes

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("structure", pa.string(), nullable=False),
        pa.field("level", pa.string(), nullable=False),
        pa.field("framework", pa.string()),
        pa.field("framework_version", pa.string()),
        pa.field("library", pa.string()),
        pa.field("model", pa.string()),
        pa.field("category", pa.string()),
        pa.field("subcategory", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("nodes", pa.int32(), nullable=False),
        pa.field("inputs", pa.int32(), nullable=False),
        pa.field("symbols", pa.int32(), nullable=False),
        pa.field("parameters", pa.int64(), nullable=False),
        pa.field("tensor_bytes", pa.int64(), nullable=False),
        pa.field("dtypes", pa.list_(pa.string())),
        pa.field("operators", pa.list_(pa.string())),
        pa.field("graph", pa.binary(), nullable=False),
    ],
    metadata={b"graph_net.pack": b"1"},
)
COLUMNS = tuple(name for name in SCHEMA.names if name != "graph")
SUBGRAPH_COLUMNS = (
    pa.field("kind", pa.string()),
    pa.field("occurrences", pa.int64()),
    pa.field("models", pa.int32()),
    pa.field("in_models", pa.list_(pa.string())),
)
"""Further columns of a pack of subgraphs: the kind, the total count, the number of models, and the
names of a few."""


def row_of(name: str, graph: Graph) -> dict[str, Any]:
    """Return the row of a graph in a pack."""
    origin = graph.provenance
    specs = [entry.spec for entry in graph.inputs if isinstance(entry.spec, TensorSpec)]
    return {
        "name": name,
        "id": graph.id,
        "structure": graph.structure,
        "level": graph.level.value,
        "framework": origin.framework,
        "framework_version": origin.framework_version,
        "library": origin.library,
        "model": origin.model,
        "category": origin.category,
        "subcategory": origin.subcategory,
        "tags": list(origin.tags),
        "nodes": len(graph.nodes),
        "inputs": len(graph.inputs),
        "symbols": len(graph.symbols),
        "parameters": graph.parameters,
        "tensor_bytes": graph.tensor_bytes,
        "dtypes": sorted({spec.dtype for spec in specs}),
        "operators": sorted({node.target for node in graph.nodes}),
        "graph": to_bytes(graph),
    }
