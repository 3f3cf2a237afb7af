"""Inputs whose values decide what a graph computes: sizes, branches, Python numbers.

Other values in these inputs give results of other sizes, and may force a recompilation. Rules go
by name; in doubt an input counts as deciding.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_net.graph.effects import argument, mutated_arguments
from graph_net.graph.graph import Graph, Node
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.graph.values import Value, refs

_DECIDING = names(Trait.VALUE_DEPENDENT)
"""``int``, ``bool`` and ``float`` are the builtins; methods of these names only convert."""
_BY_THE_REST = names(Trait.VALUE_DEPENDENT_ON_REST)
_CONVERSIONS = ("method:int", "method:bool", "method:float")
_INDEXING = names(Trait.INDEXING)
_SIZES = names(Trait.SHAPE_QUERY)
_FORM = frozenset({"shape", "dtype", "device", "ndim", "layout"})


def deciding_inputs(graph: Graph) -> frozenset[str]:
    """Return the names of the inputs whose values decide sizes or branches."""
    deciding = (value for node in graph.nodes for value in _decided_by(graph, node))
    wanted = {ref.name for value in deciding for ref in refs(value)}
    if not wanted:
        return frozenset()
    if any(mutated_arguments(node) for node in graph.nodes):
        # With mutation, a value may depend on calls that it does not refer to.
        return frozenset(entry.name for entry in graph.inputs)
    for node in reversed(graph.nodes):
        if node.name in wanted and not _reads_form(node):
            wanted.update(ref.name for ref in node.refs)
    return frozenset(entry.name for entry in graph.inputs if entry.name in wanted)


def _decided_by(graph: Graph, node: Node) -> Iterator[Value]:
    """Yield the arguments whose values decide the result's form."""
    base = base_name(node.target)
    if base in _INDEXING:
        for ref in refs(node.args[1:]):
            entry = graph.index[ref.name]
            spec = entry.result if isinstance(entry, Node) else entry.spec
            if isinstance(spec, ScalarSpec):
                continue
            if not isinstance(spec, TensorSpec) or spec.dtype in ("bool", "uint8"):
                yield ref
    elif base == "where":
        if len(node.args) + len(node.kwargs) == 1:
            yield node.args
    elif base in _BY_THE_REST:
        yield node.args[1:] or node.args
        yield tuple(value for _, value in node.kwargs)
    elif base == "one_hot":
        if argument(node, 1, "num_classes") in (None, -1):
            yield node.args
    elif base in _DECIDING and node.target not in _CONVERSIONS:
        yield node.args
        yield tuple(value for _, value in node.kwargs)


def _reads_form(node: Node) -> bool:
    """Return whether a call reads only sizes and types, not values."""
    base = base_name(node.target)
    return base in _SIZES or (base == "getattr" and any(arg in _FORM for arg in node.args[1:]))
