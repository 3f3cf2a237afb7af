"""What a variant says of itself: which graph it is of, and what was done."""

from __future__ import annotations

from dataclasses import replace

from graph_net.graph.graph import Graph
from graph_net.graph.values import Value

OF = "variant_of"
"""The option of a variant's provenance that holds the ``id`` of the graph it was made from."""
PREFIX = "variant_"


def add_notes(graph: Graph, **notes: Value) -> Graph:
    """The graph with notes on how it was made, among the options of its provenance."""
    options = dict(graph.provenance.options) | {PREFIX + k: v for k, v in notes.items()}
    return graph.with_provenance(options=tuple(options.items()))


def variant_of(made: Graph, source: Graph) -> Graph:
    """The variant with the id of the first graph it comes from, and nothing computed lost."""
    known = source.provenance.option(OF)
    options = dict(made.provenance.options) | {OF: known or source.id}
    return replace(made, provenance=replace(made.provenance, options=tuple(options.items())))
