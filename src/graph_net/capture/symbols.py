"""The caller's names for sizes, for the symbols that torch.export makes of them."""

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

Dimension = tuple[int, int]
"""The index of a tensor among the leaves of the arguments, and one of its dimensions."""


def symbol_names(
    program: ExportedProgram,
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
) -> dict[str, str]:
    """Map the symbols of a program to the caller's names: ``{"s58": "batch"}``.

    torch.export numbers its symbols and forgets the name of a ``Dim``. A name that means
    something else in an expression is left out.
    """
    sizes = _sizes(program)
    names: dict[str, str] = {}
    for dimension, name in _named_dimensions(model, args, kwargs, dynamic_shapes):
        size = sizes.get(dimension)
        symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
        if len(symbols) == 1 and _is_free(name, names):
            names.setdefault(str(next(iter(symbols))), name)
    return names


def _is_free(name: str, names: Mapping[str, str]) -> bool:
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    return plain and name not in FUNCTIONS and name not in names.values()


def _sizes(program: ExportedProgram) -> dict[Dimension, Any]:
    """Return the sizes of a program's user inputs."""
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


def _named_dimensions(
    model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic_shapes: Any
) -> Iterator[tuple[Dimension, str]]:
    """Yield every dimension that has a name, with the name."""
    leaves = [leaf for leaf in tree_leaves((args, dict(kwargs))) if isinstance(leaf, torch.Tensor)]
    order = {id(leaf): number for number, leaf in enumerate(leaves)}
    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    arguments: Any = dict(bound) if isinstance(dynamic_shapes, Mapping) else tuple(bound.values())
    for tensor, dims in _pairs(arguments, dynamic_shapes):
        for dim, symbol in _items(dims):
            if isinstance(symbol, Dim):
                yield (order[id(tensor)], int(dim)), getattr(symbol, "root", symbol).__name__


def _pairs(argument: Any, shapes: Any) -> Iterator[tuple[torch.Tensor, Any]]:
    """Yield tensors with their part of ``dynamic_shapes``, through lists and dictionaries."""
    if isinstance(argument, torch.Tensor):
        yield argument, shapes
    elif isinstance(argument, (Mapping, list, tuple)) and shapes is not None:
        for key, shape in _items(shapes):
            yield from _pairs(argument[key], shape)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, Sequence):
        yield from enumerate(value)
