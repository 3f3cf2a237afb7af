"""The lossless binary form of a Graph.

Everything that recurs is stored once: texts and specs in tables, calls as records in which a
reference is a distance (so the layers of a transformer give the same records), and repeated runs
of records as copies (``graph_net.graph.repeats``). General compression is left to the container,
which can see many graphs at once.
"""

from __future__ import annotations

from graph_net.graph.binary_layout import MAGIC
from graph_net.graph.binary_reader import GraphReader
from graph_net.graph.binary_writer import GraphWriter
from graph_net.graph.byte_writer import ByteWriter
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.graph import Graph
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits


def to_bytes(graph: Graph) -> bytes:
    """Return the compact binary form of a graph."""
    body = GraphWriter(graph)
    body.write()
    head = ByteWriter()
    head.varint(len(body.texts))
    for text in body.texts:
        raw = text.encode("utf-8")
        head.varint(len(raw))
        head.data += raw
    return MAGIC + bytes(head.data + body.data)


def from_bytes(data: bytes, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return the Graph that ``to_bytes`` wrote; raise GraphError on anything else."""
    if len(data) > limits.bytes:
        raise LimitExceeded(f"{len(data)} bytes; {limits.bytes} are allowed")
    if data[: len(MAGIC)] != MAGIC:
        raise GraphError("these bytes are not a graph", field="magic")
    return GraphReader(data, limits).graph()
