"""Find the sizes of a graph's inputs that a word such as ``batch`` stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Expr
from graph_net.graph.graph import Graph, Input, Role
from graph_net.graph.recipe import Literal
from graph_net.graph.spec import TensorSpec

WORDS = ("batch", "sequence", "image")
Dimension = tuple[str, int]
"""An input and one of its dimensions."""


def input_tensors(graph: Graph) -> Iterator[tuple[Input, TensorSpec, tuple[int, ...]]]:
    """Yield each tensor that the model is called with, with its specification and sizes."""
    for entry in graph.inputs:
        if entry.role is Role.INPUT and isinstance(entry.spec, TensorSpec):
            yield entry, entry.spec, entry.spec.sizes(graph.bindings)


def dimensions_of(graph: Graph, axis: str) -> tuple[Dimension, ...]:
    """Return the dimensions that ``batch``, ``sequence``, ``image`` or ``input:dim`` names."""
    match = re.fullmatch(r"(\w+):(\d+)", axis)
    if match is not None:
        entry = graph.index.get(match[1])
        spec = entry.spec if isinstance(entry, Input) else None
        if not isinstance(spec, TensorSpec) or int(match[2]) >= len(spec.shape):
            raise GraphError(f"no input has a dimension {axis!r}; inputs: {_list_inputs(graph)}")
        return ((match[1], int(match[2])),)
    if axis not in WORDS:
        symbols = ", ".join(graph.bindings) or "none"
        raise GraphError(
            f"{axis!r} does not name a size; write {', '.join(WORDS)}, INPUT:DIM "
            f"or a symbol (this graph has: {symbols})"
        )
    dimensions = {"batch": _batch, "sequence": _sequence, "image": _image}[axis](graph)
    if not dimensions:
        raise GraphError(f"no input has a size called {axis!r}; inputs: {_list_inputs(graph)}")
    return tuple(dimensions)


def _batch(graph: Graph) -> list[Dimension]:
    """Return the first dimension of the inputs that agree on its size."""
    ranked = [(entry.name, sizes[0]) for entry, _, sizes in input_tensors(graph) if sizes]
    return [(name, 0) for name, size in ranked if size == ranked[0][1]]


def _sequence(graph: Graph) -> list[Dimension]:
    """Return the second dimension of token ids, or of vectors, and all others of equal size."""
    candidates = [
        (len(sizes), "int" not in spec.dtype, sizes[1])
        for _, spec, sizes in input_tensors(graph)
        if len(sizes) in (2, 3)
    ]
    wanted = [c for c in candidates if c[0] == 2 and not c[1]] or [
        c for c in candidates if c[0] == 3
    ]
    if not wanted or wanted[0][2] == 1:
        return []
    return [
        (entry.name, dim)
        for entry, _, sizes in input_tensors(graph)
        for dim, size in enumerate(sizes)
        if dim > 0 and size == wanted[0][2]
    ]


def _image(graph: Graph) -> list[Dimension]:
    """Return the last two dimensions of pictures and videos."""
    pictures = [(e.name, s) for e, _, s in input_tensors(graph) if len(s) in (4, 5) and s[-1] > 1]
    return [
        (name, len(sizes) - back)
        for name, sizes in pictures
        for back in (2, 1)
        if sizes[-2:] == pictures[0][1][-2:]
    ]


def _list_inputs(graph: Graph) -> str:
    return ", ".join(f"{e.name}{list(sizes)}" for e, _, sizes in input_tensors(graph)) or "none"


def with_dimensions(graph: Graph, sizes: Mapping[Dimension, int]) -> Graph:
    """Return the graph with other sizes of inputs, and with nothing else changed."""
    return replace(graph, inputs=tuple(_resize(graph, entry, sizes) for entry in graph.inputs))


def _resize(graph: Graph, entry: Input, sizes: Mapping[Dimension, int]) -> Input:
    wanted = {dim: size for (name, dim), size in sizes.items() if name == entry.name}
    if not wanted or not isinstance(entry.spec, TensorSpec):
        return entry
    spec = entry.spec
    if any(isinstance(spec.shape[dim], Expr) for dim in wanted):
        raise GraphError(f"{entry.name} has a symbolic size there; set the symbol", node=entry.name)
    if spec.stride is not None:
        raise GraphError(
            "is not contiguous, so its strides at other sizes are unknown", node=entry.name
        )
    before = spec.sizes(graph.bindings)
    after = tuple(wanted.get(dim, size) for dim, size in enumerate(before))
    shape = tuple(wanted.get(dim, size) for dim, size in enumerate(spec.shape))
    recipe = entry.recipe
    if isinstance(recipe, Literal):
        recipe = Literal(tile_values(recipe.values, before, after))
    return replace(entry, spec=replace(spec, shape=shape), recipe=recipe)


def tile_values(
    values: tuple[complex, ...], before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[complex, ...]:
    """Return the values of a small tensor repeated, or cut, to another shape."""
    if not before:
        return values
    row = len(values) // before[0] if before[0] else 0
    rows = [
        tile_values(values[row * k : row * (k + 1)], before[1:], after[1:])
        for k in range(before[0])
    ]
    return tuple(value for k in range(after[0]) for value in rows[k % before[0]])
