"""The canonical JSON form of a Graph, for people and other programs.

Numbers, strings, booleans and null stand for themselves and an array for a list; every other
value is an object whose one key is its kind: ``{"ref": "x"}``, ``{"tuple": [1, 2]}``,
``{"slice": [null, 5, null]}``, ``{"dtype": "float32"}``, ``{"device": "run"}``. Equal graphs give
equal text.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

from graph_net.graph.checks import check_sizes
from graph_net.graph.errors import GraphError, LimitExceeded
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Input, Node, Provenance
from graph_net.graph.json_reader import FORMAT, RECIPE_NAMES, VERSION, JsonReader
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits
from graph_net.graph.recipe import Recipe
from graph_net.graph.spec import Result, ScalarSpec
from graph_net.graph.values import (
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
)


def to_json(graph: Graph, indent: int | None = None) -> str:
    """Return canonical JSON on one line, or indented by ``indent`` spaces per level."""
    tree = {
        "format": FORMAT,
        "version": VERSION,
        "level": graph.level.value,
        "provenance": _provenance_to_json(graph.provenance),
        "symbols": [_plain_fields(symbol) for symbol in graph.symbols],
        "constraints": [constraint.text for constraint in graph.constraints],
        "inputs": [_input_to_json(entry) for entry in graph.inputs],
        "nodes": [_node_to_json(node) for node in graph.nodes],
        "output": value_to_json(graph.output),
    }
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(tree, sort_keys=True, indent=indent, separators=separators, allow_nan=False)


def from_json(text: str | bytes, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return the Graph that ``to_json`` wrote; raise GraphError on anything else."""
    if len(text) > limits.bytes:
        raise LimitExceeded(f"{len(text)} bytes of JSON; {limits.bytes} are allowed")
    graph = JsonReader(limits).graph(_parse(text))
    check_sizes(graph, limits)
    return graph


def recipe_from_json(text: str, limits: GraphLimits = DEFAULT_LIMITS) -> Recipe:
    """Return the recipe that ``recipe_to_json`` wrote."""
    return JsonReader(limits).recipe(_parse(text, "recipe"))


def _parse(text: str | bytes, field: str | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"not JSON: {str(error)[:120]}", field=field) from error


# -- writing ----------------------------------------------------------------------------------


def value_to_json(value: Value) -> Any:
    """Return one argument as JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex": [value_to_json(value.real), value_to_json(value.imag)]}
    if isinstance(value, Ref):
        return {"ref": value.name}
    if isinstance(value, tuple):
        return {"tuple": [value_to_json(item) for item in value]}
    if isinstance(value, ListValue):
        return [value_to_json(item) for item in value.items]
    if isinstance(value, DictValue):
        return {"dict": [[key, value_to_json(item)] for key, item in value.items]}
    if isinstance(value, Slice):
        return {"slice": [value_to_json(v) for v in (value.start, value.stop, value.step)]}
    if isinstance(value, Dtype):
        return {"dtype": value.name}
    if isinstance(value, TorchConstant):
        return {"torch": value.name}
    if isinstance(value, RunDevice):
        return {"device": "type" if value.as_text else "run"}
    return {"ellipsis": True}


def _plain_fields(entry: Any) -> dict[str, Any]:
    values = ((f.name, getattr(entry, f.name)) for f in fields(entry))
    return {name: value for name, value in values if value is not None}


def _provenance_to_json(provenance: Provenance) -> dict[str, Any]:
    tree = _plain_fields(provenance)
    tree["tags"] = list(provenance.tags)
    tree["options"] = [[key, value_to_json(value)] for key, value in provenance.options]
    return tree


def _dims_to_json(dims: tuple[Dim, ...]) -> list[int | str]:
    return [dim.text if isinstance(dim, Expr) else dim for dim in dims]


def _spec_to_json(spec: Result) -> Any:
    if spec is None:
        return None
    if isinstance(spec, tuple):
        return [_spec_to_json(item) for item in spec]
    if isinstance(spec, ScalarSpec):
        return {"scalar": spec.kind} | ({"expr": spec.expr.text} if spec.expr is not None else {})
    tensor: dict[str, Any] = {"dtype": spec.dtype, "shape": _dims_to_json(spec.shape)}
    if spec.stride is not None:
        tensor["stride"] = _dims_to_json(spec.stride)
    return tensor


def recipe_to_json(recipe: Recipe) -> dict[str, Any]:
    """Return one recipe as JSON."""
    tree: dict[str, Any] = {"kind": RECIPE_NAMES[type(recipe)]}
    for name, value in _plain_fields(recipe).items():
        tree[name] = value_to_json(ListValue(value) if isinstance(value, tuple) else value)
    return tree


def _input_to_json(entry: Input) -> dict[str, Any]:
    return _plain_fields(entry) | {
        "spec": _spec_to_json(entry.spec),
        "recipe": recipe_to_json(entry.recipe),
        "role": entry.role.value,
    }


def _node_to_json(node: Node) -> dict[str, Any]:
    tree: dict[str, Any] = {"name": node.name, "target": node.target}
    if node.args:
        tree["args"] = [value_to_json(value) for value in node.args]
    if node.kwargs:
        tree["kwargs"] = [[key, value_to_json(value)] for key, value in node.kwargs]
    if node.result is not None:
        tree["result"] = _spec_to_json(node.result)
    return tree
