"""One call of a graph in full: its arguments, result, operands and readers."""

from __future__ import annotations

from typing import Any

from graph_net.graph import Graph, Input
from graph_net.graph.values import DictValue, Dtype, ListValue, Ref, Slice, TorchConstant, Value
from graph_net.report.page_drawing import spec_text
from graph_net.serve.errors import NotServed

MOST = 60
"""Most readers and values that are listed."""
LONGEST = 2_000


def node_facts(graph: Graph, number: int) -> dict[str, Any]:
    """Return a call as texts; raise NotServed if there is no call of that number."""
    if not 0 <= number < len(graph.nodes):
        raise NotServed(f"there is no node {number}; the graph has {len(graph.nodes)}")
    node = graph.nodes[number]
    place = {one.name: position for position, one in enumerate(graph.nodes)}
    names = list(dict.fromkeys(ref.name for ref in node.refs))
    readers = [
        [position, one.name, one.target]
        for position, one in enumerate(graph.nodes)
        if any(ref.name == node.name for ref in one.refs)
    ]
    call = ", ".join([*map(value_text, node.args),
                      *(f"{key}={value_text(value)}" for key, value in node.kwargs)])  # fmt: skip
    return {
        "number": number,
        "name": node.name,
        "target": node.target,
        "call": f"{node.target}({call})"[:LONGEST],
        "result": spec_text(node.result),
        "reads": [[place.get(name, -1), name, _spec(graph, name)] for name in names[:MOST]],
        "readers": readers[:MOST],
    }


def _spec(graph: Graph, name: str) -> str:
    entry = graph.index[name]
    if isinstance(entry, Input):
        return f"{entry.role.value} {spec_text(entry.spec)}"
    return spec_text(entry.result)


def value_text(value: Value) -> str:
    """Return an argument in Python syntax; a value of the graph by its name."""
    if isinstance(value, Ref):
        return f"%{value.name}"
    if isinstance(value, (Dtype, TorchConstant)):
        return value.name
    if isinstance(value, Slice):
        return ":".join("" if part is None else value_text(part)
                        for part in (value.start, value.stop, value.step))  # fmt: skip
    if isinstance(value, ListValue):
        return f"[{', '.join(map(value_text, value.items))}]"
    if isinstance(value, DictValue):
        return f"{{{', '.join(f'{key}: {value_text(one)}' for key, one in value.items)}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))})"
    return "…" if value is ... else repr(value)
