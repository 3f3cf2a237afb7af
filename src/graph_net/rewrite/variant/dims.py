"""Which sizes of a graph's inputs a word such as ``batch`` stands for."""

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
Place = tuple[str, int]
"""An input and one of its dimensions."""


def tensors(graph: Graph) -> Iterator[tuple[Input, TensorSpec, tuple[int, ...]]]:
    """What the model is called with: each tensor with its sizes."""
    for entry in graph.inputs:
        if entry.role is Role.INPUT and isinstance(entry.spec, TensorSpec):
            yield entry, entry.spec, entry.spec.sizes(graph.bindings)


def places_of(graph: Graph, word: str) -> tuple[Place, ...]:
    """The dimensions that ``batch``, ``sequence``, ``image`` or ``input:dim`` names."""
    named = re.fullmatch(r"(\w+):(\d+)", word)
    if named is not None:
        entry = graph.index.get(named[1])
        spec = entry.spec if isinstance(entry, Input) else None
        if not isinstance(spec, TensorSpec) or int(named[2]) >= len(spec.shape):
            raise GraphError(f"there is no dimension {word!r}; inputs: {_described(graph)}")
        return ((named[1], int(named[2])),)
    if word not in WORDS:
        symbols = ", ".join(graph.bindings) or "none"
        raise GraphError(
            f"no size is called {word!r}: say {', '.join(WORDS)}, INPUT:DIM "
            f"or a symbol (this graph has: {symbols})"
        )
    found = {"batch": _batch, "sequence": _sequence, "image": _image}[word](graph)
    if not found:
        raise GraphError(f"no input has a size called {word!r}; inputs: {_described(graph)}")
    return tuple(found)


def _batch(graph: Graph) -> list[Place]:
    """The first dimension, as far as inputs agree on it."""
    ranked = [(entry.name, sizes[0]) for entry, _, sizes in tensors(graph) if sizes]
    return [(name, 0) for name, size in ranked if size == ranked[0][1]]


def _sequence(graph: Graph) -> list[Place]:
    """The second dimension of token ids (of vectors where there are none), and equals of it."""
    known = [
        (len(sizes), "int" not in spec.dtype, sizes[1])
        for _, spec, sizes in tensors(graph)
        if len(sizes) in (2, 3)
    ]
    wanted = [k for k in known if k[0] == 2 and not k[1]] or [k for k in known if k[0] == 3]
    if not wanted or wanted[0][2] == 1:
        return []
    return [
        (entry.name, place)
        for entry, _, sizes in tensors(graph)
        for place, size in enumerate(sizes)
        if place > 0 and size == wanted[0][2]
    ]


def _image(graph: Graph) -> list[Place]:
    """The last two dimensions of pictures, and of films."""
    found = [(e.name, s) for e, _, s in tensors(graph) if len(s) in (4, 5) and s[-1] > 1]
    return [
        (name, len(sizes) - back)
        for name, sizes in found
        for back in (2, 1)
        if sizes[-2:] == found[0][1][-2:]
    ]


def _described(graph: Graph) -> str:
    return ", ".join(f"{e.name}{list(sizes)}" for e, _, sizes in tensors(graph)) or "none"


def with_places(graph: Graph, sizes: Mapping[Place, int]) -> Graph:
    """The graph with other sizes of inputs, and with nothing else changed."""
    return replace(graph, inputs=tuple(_resized(graph, entry, sizes) for entry in graph.inputs))


def _resized(graph: Graph, entry: Input, sizes: Mapping[Place, int]) -> Input:
    wanted = {dim: size for (name, dim), size in sizes.items() if name == entry.name}
    if not wanted or not isinstance(entry.spec, TensorSpec):
        return entry
    spec = entry.spec
    if any(isinstance(spec.shape[dim], Expr) for dim in wanted):
        raise GraphError(f"{entry.name} has a symbol there; set the symbol", node=entry.name)
    if spec.stride is not None:
        raise GraphError("is not contiguous, so its other sizes are unknown", node=entry.name)
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
    """The values of a small tensor repeated, or cut, to another shape."""
    if not before:
        return values
    row = len(values) // before[0] if before[0] else 0
    rows = [
        tile_values(values[row * k : row * (k + 1)], before[1:], after[1:])
        for k in range(before[0])
    ]
    return tuple(value for k in range(after[0]) for value in rows[k % before[0]])
