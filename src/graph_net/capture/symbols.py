"""The names that a caller gave to sizes, for the symbols that torch.export made of them."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import InputKind, TensorArgument
from torch.utils._pytree import tree_leaves

from graph_net.graph.expr import FUNCTIONS

Place = tuple[int, int]
"""A tensor among the leaves of the arguments, and one of its dimensions."""


def symbol_names(
    program: ExportedProgram,
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
) -> dict[str, str]:
    """What the caller calls the symbols of a program: ``{"s58": "batch"}``.

    torch.export numbers its symbols and forgets the name of a ``Dim``. A name that means
    something else in an expression is left out.
    """
    sizes = _sizes(program)
    found: dict[str, str] = {}
    for place, name in _named(model, args, kwargs, dynamic_shapes):
        size = sizes.get(place)
        symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
        if len(symbols) == 1 and _is_free(name, found):
            found.setdefault(str(next(iter(symbols))), name)
    return found


def _is_free(name: str, found: Mapping[str, str]) -> bool:
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    return plain and name not in FUNCTIONS and name not in found.values()


def _sizes(program: ExportedProgram) -> dict[Place, Any]:
    """The sizes of a program's own inputs."""
    values = {
        node.name: node.meta.get("val")
        for node in program.graph_module.graph.find_nodes(op="placeholder")
    }
    inputs = [
        values[spec.arg.name]
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)
    ]
    return {
        (leaf, dim): size
        for leaf, value in enumerate(inputs)
        if isinstance(value, torch.Tensor)
        for dim, size in enumerate(value.shape)
    }


def _named(
    model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic_shapes: Any
) -> Iterator[tuple[Place, str]]:
    """Every dimension that has a name, with the name."""
    leaves = [leaf for leaf in tree_leaves((args, dict(kwargs))) if isinstance(leaf, torch.Tensor)]
    order = {id(leaf): number for number, leaf in enumerate(leaves)}
    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    given: Any = dict(bound) if isinstance(dynamic_shapes, Mapping) else tuple(bound.values())
    for tensor, dims in _pairs(given, dynamic_shapes):
        for dim, named in _items(dims):
            if isinstance(named, Dim):
                yield (order[id(tensor)], int(dim)), getattr(named, "root", named).__name__


def _pairs(given: Any, shapes: Any) -> Iterator[tuple[torch.Tensor, Any]]:
    """Tensors with what was said of their dimensions, through lists and dictionaries."""
    if isinstance(given, torch.Tensor):
        yield given, shapes
    elif isinstance(given, (Mapping, list, tuple)) and shapes is not None:
        for key, shape in _items(shapes):
            yield from _pairs(given[key], shape)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, Sequence):
        yield from enumerate(value)
