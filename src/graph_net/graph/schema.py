"""Normalisation of traced operators: arguments in schema form, no assertions, no dead code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx
from torch._ops import OpOverload

from graph_net.graph.errors import GraphError
from graph_net.graph.operators import Trait, names

ASSERTIONS = names(Trait.ASSERTION)


def tidy(module: fx.GraphModule) -> None:
    """Drop assertions and dead code; normalise arguments."""
    for node in reversed(module.graph.nodes):
        if node.op != "call_function" or not isinstance(node.target, OpOverload):
            continue
        if node.target._opname in ASSERTIONS and not node.users:
            module.graph.erase_node(node)
        else:
            node.args, node.kwargs = normalise_arguments(node.target, node.args, node.kwargs)
    module.graph.eliminate_dead_code()


def normalise_arguments(
    overload: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments in schema order, without those that equal their defaults."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    schema = overload._schema.arguments
    for position, argument in enumerate(schema):
        if position < len(args):
            value, present = args[position], True
        else:
            value, present = kwargs.get(argument.name), argument.name in kwargs
        if argument.kwarg_only:
            if present and not _is_default(argument, value):
                named[argument.name] = value
        elif present:
            positional.append(value)
        elif argument.has_default_value():
            positional.append(argument.default_value)
        else:
            raise GraphError(f"{overload} is called without {argument.name!r}", field="args")
    for argument in reversed([a for a in schema if not a.kwarg_only]):
        if not positional or not _is_default(argument, positional[-1]):
            break
        positional.pop()
    return tuple(positional), named


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default_value() or isinstance(value, fx.Node):
        return False
    default = argument.default_value
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return list(value) == list(default) and not any(isinstance(v, fx.Node) for v in value)
    return type(value) is type(default) and bool(value == default)
