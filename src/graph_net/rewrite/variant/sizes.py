"""A graph at other sizes: its symbols set, or its numbers carried along and checked.

Most graphs are captured at one size. Such a graph is taken to another by changing its inputs and
running it on tensors without values; numbers in its calls that were the old size follow. That is
a guess, so it is made at two sizes: the same numbers must follow at both, and what comes out must
change in the same dimensions. A graph that does not pass is refused.

A GraphNet sample has both: symbols in the shapes of its inputs, and calls written down at one
size. Setting its symbols alone would leave ``view(1, -1, 768)`` as it is, which runs at any size
and is right at one; so its numbers follow, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Expr
from graph_net.graph.graph import Graph, Input, Symbol
from graph_net.graph.recipe import Constant, Literal
from graph_net.graph.spec import ScalarSpec, Spec, TensorSpec
from graph_net.graph.values import Value, refs
from graph_net.printable import first_line
from graph_net.rewrite.carve import symbols_of
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant.dims import Place, places_of, tile_values
from graph_net.rewrite.variant.propagate import values_of, with_results
from graph_net.rewrite.variant.provenance import add_notes
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
    named = {word} if word in graph.bindings else _symbols_at(graph, word)
    if not named:
        places = places_of(graph, word)
        return _carried(to_aten(graph), word, lambda n: dict.fromkeys(places, n), size, confirm)
    if None not in named and _reach_results(graph):
        return add_notes(_with_symbols(graph, _each(named, size)), **{f"size_{word}": size})
    return _beside_numbers(graph, word, named, size, confirm)


def _symbols_at(graph: Graph, word: str) -> set[str | None]:
    """The symbols that a word stands for, None among them where it is also a number."""
    named = {_symbol_at(graph, place) for place in places_of(graph, word)}
    return set() if named == {None} else named


def _each(named: Collection[str | None], size: int) -> dict[str, int]:
    return {name: size for name in named if name is not None}


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


def _reach_results(graph: Graph) -> bool:
    """Whether symbols stand in results, too, so that calls are known to compute with them."""
    return any(symbols_of(node.result) for node in graph.nodes)


def _beside_numbers(
    graph: Graph, word: str, named: Collection[str | None], size: int, confirm: bool
) -> Graph:
    """A graph whose inputs have symbols and whose calls were written down at one size.

    Samples are such graphs: ``view(1, 197, 768)`` of an input whose first size is ``S0``. Its
    numbers follow as they do where there are no symbols; where none has to, symbols are kept.
    """
    literal = [place for place in _places(graph, word) if _symbol_at(graph, place) is None]

    def sizes(new: int) -> dict[Place, int]:
        return _symbolic_sizes(graph, _each(named, new)) | dict.fromkeys(literal, new)

    _check_constraints(graph, _each(named, size))
    carried = _carried(to_aten(_at_examples(graph)), word, sizes, size, confirm)
    if literal or carried.provenance.option(f"variant_followed_{word}"):
        return carried
    return add_notes(_with_symbols(graph, _each(named, size)), **{f"size_{word}": size})


def _places(graph: Graph, word: str) -> tuple[Place, ...]:
    return () if word in graph.bindings else places_of(graph, word)


def _symbolic_sizes(graph: Graph, wanted: Mapping[str, int]) -> dict[Place, int]:
    """Every size of an input that other values of symbols change."""
    before, after = graph.bindings, {**graph.bindings, **wanted}
    return {
        (entry.name, dim): new
        for entry in graph.inputs
        if isinstance(entry.spec, TensorSpec)
        for dim, (old, new) in enumerate(
            zip(entry.spec.sizes(before), entry.spec.sizes(after), strict=True)
        )
        if old != new
    }


def _at_examples(graph: Graph) -> Graph:
    """The graph with the example of each symbol in the symbol's place."""
    inputs = tuple(replace(entry, spec=_number(graph, entry.spec)) for entry in graph.inputs)
    nodes = tuple(replace(n, result=None) if symbols_of(n.result) else n for n in graph.nodes)
    return replace(graph, inputs=inputs, nodes=nodes, symbols=(), constraints=())


def _number(graph: Graph, spec: Spec) -> Spec:
    if isinstance(spec, TensorSpec):
        strides = spec.strides(graph.bindings)
        return TensorSpec(spec.sizes(graph.bindings), spec.dtype, strides)
    return replace(spec, expr=None)


def _with_symbols(graph: Graph, wanted: Mapping[str, int]) -> Graph:
    """Other examples for symbols, within their bounds and the graph's constraints."""
    symbols = _check_constraints(graph, wanted)
    bindings = {symbol.name: symbol.example for symbol in symbols}
    inputs = tuple(_bound(graph, entry, bindings) for entry in graph.inputs)
    made = replace(graph, symbols=symbols, inputs=inputs)
    try:
        return with_results(made, values_of(made))
    except GraphError as error:
        raise GraphError(f"does not run at {_said(wanted)}: {first_line(error)}") from error


def _check_constraints(graph: Graph, wanted: Mapping[str, int]) -> tuple[Symbol, ...]:
    """The symbols with these examples; a GraphError where a bound or a constraint is broken."""
    symbols = tuple(_set(s, wanted[s.name]) if s.name in wanted else s for s in graph.symbols)
    bindings = {symbol.name: symbol.example for symbol in symbols}
    for constraint in graph.constraints:
        if not constraint.value(bindings):
            raise GraphError(f"{_said(wanted)} breaks the constraint {constraint.text}")
    return symbols


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
        return replace(entry, recipe=Literal(tile_values(entry.recipe.values, before, after)))
    return entry


def _said(wanted: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in wanted.items())


# -- numbers -----------------------------------------------------------------------------------


Sizes: TypeAlias = Callable[[int], Mapping[Place, int]]
"""What every dimension becomes that changes with a size."""


def _carried(graph: Graph, word: str, sizes: Sizes, size: int, confirm: bool) -> Graph:
    before = values_of(graph)
    old = {place: int(before[place[0]].shape[place[1]]) for place in sizes(size)}
    if old == dict(sizes(size)):
        return add_notes(graph, **{f"size_{word}": size})
    made, sites = Solver(graph, before, sizes(size)).solve()
    if confirm:
        _confirm(graph, made, sites, sizes, (next(iter(old.values())), size))
    said = tuple(f"{name} {path[-1]}: {new}" for (name, path), new in sites.items())
    if len(said) > NAMED:
        said = (*said[:NAMED], f"and {len(said) - NAMED} more")
    notes: dict[str, Value] = {f"size_{word}": size, f"followed_{word}": said}
    return add_notes(made, **notes)


def _confirm(
    graph: Graph, made: Graph, sites: Sites, sizes: Sizes, old_and_new: tuple[int, int]
) -> None:
    """Raise unless another size leads to the same numbers and the same dimensions."""
    before = values_of(graph)
    tried: list[str] = []
    for size in _others(*old_and_new):
        try:
            other, others = Solver(graph, before, sizes(size)).solve()
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
