"""A graph as one line of text, and as a table for a notebook."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from graph_net.graph.spec import TensorSpec
from graph_net.printable import count_phrase, html_table, printable, short_bytes, short_count

if TYPE_CHECKING:
    from graph_net.graph.graph import Graph, Input

MAX_LISTED = 8
"""How many inputs and operators are listed."""


def title_of(graph: Graph) -> str:
    """Return the model, the level and the size of a graph."""
    origin = graph.provenance
    name = "/".join(filter(None, (origin.library, origin.model))) or "graph"
    parameters = f"{short_count(graph.parameters)} parameters"
    return printable(
        f"{name}: {count_phrase(len(graph.nodes), 'node')}, {parameters}, level {graph.level.value}"
    )


def html_of(graph: Graph) -> str:
    """Return the facts of a graph as an HTML table."""
    calls = Counter(node.target for node in graph.nodes)
    operators = [f"{target} × {count:,}" for target, count in calls.most_common(MAX_LISTED)]
    inputs = [_describe(entry) for entry in graph.inputs if entry.role.value == "input"]
    rows = [
        ("id", graph.id),
        ("category", graph.provenance.category),
        ("inputs", _join(inputs, len(inputs))),
        ("tensors", short_bytes(graph.tensor_bytes)),
        ("operators", _join(operators, len(calls))),
    ]
    return html_table(title_of(graph), ("", ""), rows)


def _join(items: list[str], count: int) -> str:
    more = f", … {count - MAX_LISTED:,} more" if count > MAX_LISTED else ""
    return ", ".join(items[:MAX_LISTED]) + more


def _describe(entry: Input) -> str:
    if not isinstance(entry.spec, TensorSpec):
        return entry.name
    sizes = ", ".join(str(getattr(dim, "text", dim)) for dim in entry.spec.shape)
    return f"{entry.name} {entry.spec.dtype}[{sizes}]"
