"""The provenance of a variant: its source graph, and how it was made."""

from __future__ import annotations

from graph_net.graph.graph import Graph
from graph_net.graph.values import Value

OF = "variant_of"
"""The provenance option that holds the ``id`` of the source graph."""
PREFIX = "variant_"


def add_notes(graph: Graph, **notes: Value) -> Graph:
    """Return the graph with notes on how it was made, among its provenance options."""
    options = dict(graph.provenance.options) | {PREFIX + k: v for k, v in notes.items()}
    return graph.with_provenance(options=tuple(options.items()))


def variant_of(variant: Graph, source: Graph) -> Graph:
    """Return the variant with the id of the first graph it comes from."""
    first = source.provenance.option(OF) or source.id
    options = dict(variant.provenance.options) | {OF: first}
    return variant.with_provenance(options=tuple(options.items()))
