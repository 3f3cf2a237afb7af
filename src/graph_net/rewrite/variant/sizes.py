"""Resize a graph: set its symbols, or carry its numbers along and check them.

Most graphs are captured at one size. Such a graph is resized by changing its inputs and running it
on fake tensors; numbers in its calls that were the old size change too. That is a guess, so it is
made at two sizes: the same numbers must change at both, and the outputs must change in the same
dimensions. Otherwise the graph is refused.

A GraphNet sample has both: symbols in the shapes of its inputs, and calls recorded at one size.
Setting its symbols alone would leave ``view(1, -1, 768)`` as it is, which runs at any size and is
right at one; so its numbers change too.
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
from graph_net.rewrite.variant.dims import Dimension, dimensions_of, tile_values
from graph_net.rewrite.variant.propagate import values_of, with_results
from graph_net.rewrite.variant.provenance import add_notes
from graph_net.rewrite.variant.solve import Sites, Solver

NAMED = 20
"""The most changed numbers that the provenance names; more are only counted."""


def with_sizes(graph: Graph, wanted: Mapping[str, int], *, confirm: bool = True) -> Graph:
    """Return the graph with sizes set: ``batch``, ``sequence``, ``image``, ``input:dim``, a symbol.

    Without ``confirm`` the second size is not tried: for estimates, not for results.
    """
    for axis, size in wanted.items():
        if size < 1:
            raise GraphError(f"{axis}={size} is not a size; write 1 or more")
        graph = _with_size(graph, axis, size, confirm)
    return graph


def size_of(graph: Graph, axis: str) -> int:
    """Return the current value of a size."""
    if axis in graph.bindings:
        return graph.bindings[axis]
    name, dim = dimensions_of(graph, axis)[0]
    entry = graph.index[name]
    assert isinstance(entry, Input)
    assert isinstance(entry.spec, TensorSpec)
    return entry.spec.sizes(graph.bindings)[dim]


def _with_size(graph: Graph, axis: str, size: int, confirm: bool) -> Graph:
    symbols = {axis} if axis in graph.bindings else _symbols_at(graph, axis)
    if not symbols:
        dimensions = dimensions_of(graph, axis)
        return _carry_numbers(
            to_aten(graph), axis, lambda n: dict.fromkeys(dimensions, n), size, confirm
        )
    if None not in symbols and _has_symbolic_results(graph):
        return add_notes(_with_symbols(graph, _assign(symbols, size)), **{f"size_{axis}": size})
    return _resize_sample(graph, axis, symbols, size, confirm)


def _symbols_at(graph: Graph, axis: str) -> set[str | None]:
    """Return the symbols that a word stands for; None is among them if it is also a number."""
    symbols = {_symbol_at(graph, dimension) for dimension in dimensions_of(graph, axis)}
    return set() if symbols == {None} else symbols


def _assign(symbols: Collection[str | None], size: int) -> dict[str, int]:
    return {name: size for name in symbols if name is not None}


# -- symbols -----------------------------------------------------------------------------------


def _symbol_at(graph: Graph, dimension: Dimension) -> str | None:
    name, index = dimension
    entry = graph.index[name]
    assert isinstance(entry, Input)
    assert isinstance(entry.spec, TensorSpec)
    size = entry.spec.shape[index]
    if not isinstance(size, Expr):
        return None
    if size.text not in graph.bindings:
        raise GraphError(f"{name}:{index} is {size.text}; set its symbols", node=name)
    return size.text


def _has_symbolic_results(graph: Graph) -> bool:
    """Return whether results have symbols too, so that calls compute with them."""
    return any(symbols_of(node.result) for node in graph.nodes)


def _resize_sample(
    graph: Graph, axis: str, symbols: Collection[str | None], size: int, confirm: bool
) -> Graph:
    """Resize a graph whose inputs have symbols and whose calls were recorded at one size.

    Samples are such graphs: ``view(1, 197, 768)`` of an input whose first size is ``S0``. Their
    numbers change as they do without symbols; if none has to, the symbols stay.
    """
    literal = [
        dimension for dimension in _dimensions(graph, axis) if _symbol_at(graph, dimension) is None
    ]

    def sizes(new: int) -> dict[Dimension, int]:
        return _symbolic_sizes(graph, _assign(symbols, new)) | dict.fromkeys(literal, new)

    _check_constraints(graph, _assign(symbols, size))
    carried = _carry_numbers(to_aten(_at_examples(graph)), axis, sizes, size, confirm)
    if literal or carried.provenance.option(f"variant_followed_{axis}"):
        return carried
    return add_notes(_with_symbols(graph, _assign(symbols, size)), **{f"size_{axis}": size})


def _dimensions(graph: Graph, axis: str) -> tuple[Dimension, ...]:
    return () if axis in graph.bindings else dimensions_of(graph, axis)


def _symbolic_sizes(graph: Graph, wanted: Mapping[str, int]) -> dict[Dimension, int]:
    """Return every size of an input that other values of symbols change."""
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
    """Return the graph with the example of each symbol in the symbol's place."""
    inputs = tuple(replace(entry, spec=_concrete(graph, entry.spec)) for entry in graph.inputs)
    nodes = tuple(replace(n, result=None) if symbols_of(n.result) else n for n in graph.nodes)
    return replace(graph, inputs=inputs, nodes=nodes, symbols=(), constraints=())


def _concrete(graph: Graph, spec: Spec) -> Spec:
    if isinstance(spec, TensorSpec):
        strides = spec.strides(graph.bindings)
        return TensorSpec(spec.sizes(graph.bindings), spec.dtype, strides)
    return replace(spec, expr=None)


def _with_symbols(graph: Graph, wanted: Mapping[str, int]) -> Graph:
    """Return the graph with other examples of symbols, within their bounds and constraints."""
    symbols = _check_constraints(graph, wanted)
    bindings = {symbol.name: symbol.example for symbol in symbols}
    inputs = tuple(_rebind(graph, entry, bindings) for entry in graph.inputs)
    variant = replace(graph, symbols=symbols, inputs=inputs)
    try:
        return with_results(variant, values_of(variant))
    except GraphError as error:
        raise GraphError(f"does not run at {_assignments(wanted)}: {first_line(error)}") from error


def _check_constraints(graph: Graph, wanted: Mapping[str, int]) -> tuple[Symbol, ...]:
    """Return the symbols with these examples; raise GraphError on a broken bound or constraint."""
    symbols = tuple(
        _set_symbol(s, wanted[s.name]) if s.name in wanted else s for s in graph.symbols
    )
    bindings = {symbol.name: symbol.example for symbol in symbols}
    for constraint in graph.constraints:
        if not constraint.value(bindings):
            raise GraphError(f"{_assignments(wanted)} breaks the constraint {constraint.text}")
    return symbols


def _set_symbol(symbol: Symbol, size: int) -> Symbol:
    low, high = symbol.low, symbol.high
    if (low is not None and size < low) or (high is not None and size > high):
        raise GraphError(f"{symbol.name}={size} lies outside its bounds {low} … {high}")
    return replace(symbol, example=size)


def _rebind(graph: Graph, entry: Input, bindings: Mapping[str, int]) -> Input:
    if isinstance(entry.spec, ScalarSpec):
        if entry.spec.expr is None:
            return entry
        return replace(entry, recipe=Constant(entry.spec.expr.value(bindings)))
    if isinstance(entry.recipe, Literal):
        before, after = entry.spec.sizes(graph.bindings), entry.spec.sizes(bindings)
        return replace(entry, recipe=Literal(tile_values(entry.recipe.values, before, after)))
    return entry


def _assignments(wanted: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in wanted.items())


# -- numbers -----------------------------------------------------------------------------------


Sizes: TypeAlias = Callable[[int], Mapping[Dimension, int]]
"""Maps a size to the dimensions that change with it, and their new sizes."""


def _carry_numbers(graph: Graph, axis: str, sizes: Sizes, size: int, confirm: bool) -> Graph:
    before = values_of(graph)
    old = {(name, dim): int(before[name].shape[dim]) for name, dim in sizes(size)}
    if old == dict(sizes(size)):
        return add_notes(graph, **{f"size_{axis}": size})
    variant, sites = Solver(graph, before, sizes(size)).solve()
    if confirm:
        _confirm(graph, variant, sites, sizes, (next(iter(old.values())), size))
    followed = tuple(f"{name} {path[-1]}: {new}" for (name, path), new in sites.items())
    if len(followed) > NAMED:
        followed = (*followed[:NAMED], f"and {len(followed) - NAMED} more")
    notes: dict[str, Value] = {f"size_{axis}": size, f"followed_{axis}": followed}
    return add_notes(variant, **notes)


def _confirm(
    graph: Graph, variant: Graph, sites: Sites, sizes: Sizes, old_and_new: tuple[int, int]
) -> None:
    """Raise unless another size leads to the same numbers and the same dimensions."""
    before = values_of(graph)
    failures: list[str] = []
    for size in _other_sizes(*old_and_new):
        try:
            other, others = Solver(graph, before, sizes(size)).solve()
        except GraphError as error:
            failures.append(f"{size}: {first_line(error)}")
            continue
        if others.keys() == sites.keys() and _changed_dims(graph, variant) == _changed_dims(
            graph, other
        ):
            return
        failures.append(f"{size}: other numbers follow")
    raise GraphError(f"cannot be resized: no second size confirms it ({'; '.join(failures)[:300]})")


def _other_sizes(old: int, new: int) -> Iterator[int]:
    candidates = (2 * new, 3 * new, new + old, 3 * old, 5 * old, new // 2, (new + old) // 2)
    yield from dict.fromkeys(c for c in candidates if c > 1 and c not in (old, new))


def _changed_dims(before: Graph, after: Graph) -> list[tuple[bool, ...]]:
    """Return for each output which of its dimensions differ."""
    changed = []
    for ref in refs(before.output):
        specs = [graph.index[ref.name] for graph in (before, after)]
        first, second = (s.spec if isinstance(s, Input) else s.result for s in specs)
        if isinstance(first, TensorSpec) and isinstance(second, TensorSpec):
            pairs = zip(first.sizes(before.bindings), second.sizes(after.bindings), strict=True)
            changed.append(tuple(a != b for a, b in pairs))
    return changed
