"""A Graph as compact bytes, and back, exactly.

Everything that recurs is stored once: texts and specifications in tables, calls as records in
which a reference is a distance (so the layers of a transformer give the same records), and runs
of records that occur again as a copy from earlier (``graph_net.graph.repeats``). General
compression is left to the container, which can see many graphs at once.
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
    """The compact form."""
    body = GraphWriter(graph)
    body.write()
    head = ByteWriter()
    head.data += MAGIC
    head.whole(len(body.texts))
    for text in body.texts:
        raw = text.encode("utf-8")
        head.whole(len(raw))
        head.data += raw
    return bytes(head.data + body.data)


def from_bytes(data: bytes, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """The Graph that ``to_bytes`` wrote; anything else is a GraphError."""
    if len(data) > limits.bytes:
        raise LimitExceeded(f"{len(data)} bytes; {limits.bytes} are allowed")
    if data[: len(MAGIC)] != MAGIC:
        raise GraphError("these bytes are no graph", field="magic")
    return GraphReader(data, limits).graph()
