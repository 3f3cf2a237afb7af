"""A graph at other sizes: its symbols set, or its numbers carried along and checked.

Most graphs are captured at one size. Such a graph is taken to another by changing its inputs and
running it on tensors without values; numbers in its calls that were the old size follow. That is
a guess, so it is made at two sizes: the same numbers must follow at both, and what comes out must
change in the same dimensions. A graph that does not pass is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Expr
from graph_net.graph.graph import Graph, Input, Symbol
from graph_net.graph.recipe import Constant, Literal
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.graph.values import Value, refs
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant.dims import Place, places_of, tiled
from graph_net.rewrite.variant.propagate import first_line, values_of
from graph_net.rewrite.variant.provenance import noted
from graph_net.rewrite.variant.solve import Sites, Solver

NAMED = 20
"""So many followed numbers are named in the provenance; more are counted."""


def with_sizes(graph: Graph, wanted: Mapping[str, int], *, confirm: bool = True) -> Graph:
    """The graph with sizes set: ``batch``, ``sequence``, ``image``, ``input:dim`` or a symbol.

    Without ``confirm`` the second size is left out: for a look at a size, not for a result.
    """
    for word, size in wanted.items():
        if size < 1:
            raise GraphError(f"{word}={size} is no size")
        graph = _with_size(graph, word, size, confirm)
    return graph


def size_of(graph: Graph, word: str) -> int:
    """What a size is now."""
    if word in graph.bindings:
        return graph.bindings[word]
    name, dim = places_of(graph, word)[0]
    entry = graph.index[name]
    assert isinstance(entry, Input)
    assert isinstance(entry.spec, TensorSpec)
    return entry.spec.sizes(graph.bindings)[dim]


def _with_size(graph: Graph, word: str, size: int, confirm: bool) -> Graph:
    if word in graph.bindings:
        return noted(_with_symbols(graph, {word: size}), **{f"size_{word}": size})
    places = places_of(graph, word)
    named = {_symbol_at(graph, place) for place in places}
    if named != {None}:
        if None in named:
            raise GraphError(f"{word} is a symbol in some inputs only; set symbols instead")
        symbols = {name: size for name in named if name is not None}
        return noted(_with_symbols(graph, symbols), **{f"size_{word}": size})
    return _carried(to_aten(graph), word, dict.fromkeys(places, size), confirm)


# -- symbols -----------------------------------------------------------------------------------


def _symbol_at(graph: Graph, place: Place) -> str | None:
    entry = graph.index[place[0]]
    assert isinstance(entry, Input)
    assert isinstance(entry.spec, TensorSpec)
    dim = entry.spec.shape[place[1]]
    if not isinstance(dim, Expr):
        return None
    if dim.text not in graph.bindings:
        raise GraphError(f"{place[0]}:{place[1]} is {dim.text}; set its symbols", node=place[0])
    return dim.text


def _with_symbols(graph: Graph, wanted: Mapping[str, int]) -> Graph:
    """Other examples for symbols, within their bounds and the graph's constraints."""
    symbols = tuple(_set(s, wanted[s.name]) if s.name in wanted else s for s in graph.symbols)
    bindings = {symbol.name: symbol.example for symbol in symbols}
    for constraint in graph.constraints:
        if not constraint.value(bindings):
            raise GraphError(f"{_said(wanted)} breaks the constraint {constraint.text}")
    inputs = tuple(_bound(graph, entry, bindings) for entry in graph.inputs)
    made = replace(graph, symbols=symbols, inputs=inputs)
    try:
        values_of(made)
    except GraphError as error:
        raise GraphError(f"does not run at {_said(wanted)}: {first_line(error)}") from error
    return made


def _set(symbol: Symbol, size: int) -> Symbol:
    low, high = symbol.low, symbol.high
    if (low is not None and size < low) or (high is not None and size > high):
        raise GraphError(f"{symbol.name}={size} lies outside {low} … {high}")
    return replace(symbol, example=size)


def _bound(graph: Graph, entry: Input, bindings: Mapping[str, int]) -> Input:
    if isinstance(entry.spec, ScalarSpec):
        if entry.spec.expr is None:
            return entry
        return replace(entry, recipe=Constant(entry.spec.expr.value(bindings)))
    if isinstance(entry.recipe, Literal):
        before, after = entry.spec.sizes(graph.bindings), entry.spec.sizes(bindings)
        return replace(entry, recipe=Literal(tiled(entry.recipe.values, before, after)))
    return entry


def _said(wanted: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in wanted.items())


# -- numbers -----------------------------------------------------------------------------------


def _carried(graph: Graph, word: str, sizes: Mapping[Place, int], confirm: bool) -> Graph:
    before = values_of(graph)
    old = {place: int(before[place[0]].shape[place[1]]) for place in sizes}
    if old == dict(sizes):
        return noted(graph, **{f"size_{word}": next(iter(sizes.values()))})
    made, sites = Solver(graph, before, sizes).solve()
    if confirm:
        _confirm(graph, made, sites, old, sizes)
    said = tuple(f"{name} {path[-1]}: {new}" for (name, path), new in sites.items())
    if len(said) > NAMED:
        said = (*said[:NAMED], f"and {len(said) - NAMED} more")
    notes: dict[str, Value] = {f"size_{word}": next(iter(sizes.values())), f"followed_{word}": said}
    return noted(made, **notes)


def _confirm(
    graph: Graph, made: Graph, sites: Sites, old: Mapping[Place, int], new: Mapping[Place, int]
) -> None:
    """Raise unless another size leads to the same numbers and the same dimensions."""
    before = values_of(graph)
    tried: list[str] = []
    for size in _others(next(iter(old.values())), next(iter(new.values()))):
        try:
            other, others = Solver(graph, before, dict.fromkeys(new, size)).solve()
        except GraphError as error:
            tried.append(f"{size}: {first_line(error)}")
            continue
        if others.keys() == sites.keys() and _moved(graph, made) == _moved(graph, other):
            return
        tried.append(f"{size}: other numbers follow")
    raise GraphError(f"cannot be resized: no second size confirms it ({'; '.join(tried)[:300]})")


def _others(old: int, new: int) -> Iterator[int]:
    candidates = (2 * new, 3 * new, new + old, 3 * old, 5 * old, new // 2, (new + old) // 2)
    yield from dict.fromkeys(c for c in candidates if c > 1 and c not in (old, new))


def _moved(before: Graph, after: Graph) -> list[tuple[bool, ...]]:
    """For each output which of its dimensions are other ones."""
    found = []
    for ref in refs(before.output):
        specs = [graph.index[ref.name] for graph in (before, after)]
        first, second = (s.spec if isinstance(s, Input) else s.result for s in specs)
        if isinstance(first, TensorSpec) and isinstance(second, TensorSpec):
            pairs = zip(first.sizes(before.bindings), second.sizes(after.bindings), strict=True)
            found.append(tuple(a != b for a, b in pairs))
    return found
