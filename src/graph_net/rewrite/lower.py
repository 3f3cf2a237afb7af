"""Lower level ``torch`` to level ``aten``: pre-dispatch operators with schema-normalised arguments.

The graph is interpreted once under fake tensors while ``make_fx`` records the operators that are
called, so no weight exists in memory. A value that decides control flow or a size through
``.item()`` is unknown to a fake tensor; if it can be computed from stored literals it is computed
first and used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from graph_net.graph.effects import changes_autocast
from graph_net.graph.errors import GraphError
from graph_net.graph.execute import fake_inputs, interpret, restore_autocast
from graph_net.graph.fx import constant_of, from_fx
from graph_net.graph.graph import Graph, Input, Level, Node, Role
from graph_net.graph.runtime import SymbolTable, spec_of
from graph_net.graph.schema import tidy
from graph_net.graph.targets import is_aten_level
from graph_net.graph.values import Ref, Value, map_refs
from graph_net.printable import error_line
from graph_net.rewrite.read_values import AUTOCAST, NO_COMPUTATION, fold_scalars, repaired_graphs

SPECIALISED = "specialised_values"
REPAIRED = "repaired_sizes"


def to_aten(graph: Graph) -> Graph:
    """Return the same computation in ATen operators.

    If a decision depends on input values that are not literals, the values drawn with seed 0
    decide; if the numbers a graph is called with contradict its tensors' shapes, sizes of these are
    tried. The provenance says so, under ``specialised_values`` and ``repaired_sizes``.
    """
    if graph.level is Level.ATEN:
        return graph
    failure: Exception | None = None
    for candidate, values, notes in _attempts(graph):
        try:
            lowered = _lower(candidate, values)
        except GraphError:
            raise
        except Exception as error:
            failure = failure or error
            continue
        options = {**dict(graph.provenance.options), **notes}
        return lowered.with_provenance(options=tuple(options.items()))
    assert failure is not None
    raise _failure(failure) from failure


def _attempts(graph: Graph) -> Iterator[tuple[Graph, dict[str, Any], dict[str, Value]]]:
    """Yield what to lower, the results to take as known, and notes; the plain way first."""
    skipped = {node.name: None for node in graph.nodes if node.target in NO_COMPUTATION}
    values = {**skipped, **fold_scalars(graph, literal_only=True)}
    yield graph, values, {}
    drawn = fold_scalars(graph, literal_only=False)
    specialised = tuple(sorted(drawn.keys() - values.keys()))
    if specialised:
        yield graph, {**values, **drawn}, {SPECIALISED: specialised}
    for repaired in repaired_graphs(graph):
        changed = changed_inputs(graph, repaired)
        yield (
            repaired,
            {**skipped, **fold_scalars(repaired, literal_only=True)},
            {REPAIRED: changed},
        )


def changed_inputs(first: Graph, second: Graph) -> tuple[str, ...]:
    """Return the names of the inputs that differ between two forms of a graph."""
    pairs = zip(first.inputs, second.inputs, strict=True)
    return tuple(after.name for before, after in pairs if before != after)


def _failure(error: Exception) -> GraphError:
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    return GraphError(f"cannot be lowered: {error_line(error)}{notes}")


def trace_graph(graph: Graph) -> Graph:
    """Return the graph that tracing records: the same one, if it is in ATen operators."""
    return _lower(graph, {})


def _lower(graph: Graph, values: dict[str, Any]) -> Graph:
    # Automatic casts happen below the level that pre-dispatch tracing sees; a graph that switches
    # them on is traced after dispatch, where they are calls like any other.
    casts = any(changes_autocast(node) for node in graph.nodes)
    if casts:
        values = {name: value for name, value in values.items() if not _is_autocast(graph, name)}
    device = torch.device("cpu")
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    mode.allow_scalar_outputs = True
    examples = fake_inputs(graph, mode, device)

    def call(*inputs: Any) -> Any:
        return interpret(graph, inputs, device, values)

    with warnings.catch_warnings(), mode, torch.no_grad(), restore_autocast():
        warnings.simplefilter("ignore")
        module = make_fx(call, tracing_mode="real", pre_dispatch=not casts)(*examples)
    tidy(module)
    return graph_of_trace(module, graph)


def _is_autocast(graph: Graph, name: str) -> bool:
    node = graph.index[name]
    return isinstance(node, Node) and node.target in AUTOCAST


def graph_of_trace(module: fx.GraphModule, source: Graph) -> Graph:
    """Return the traced module as a Graph whose inputs are the source's, then constants."""
    names: dict[str, str] = {}
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, entry in zip(placeholders, source.inputs, strict=True):
        names[str(node.target)] = entry.name
        if not isinstance(node.meta.get("val"), torch.Tensor):
            node.meta["val"] = 1
    traced = from_fx(module, level=Level.ATEN)
    constants = {
        entry.name: _constant(module, entry) for entry in traced.inputs if entry.name not in names
    }
    taken = {entry.name for entry in source.inputs}
    renamed = dict(names)
    for name in [*constants, *(node.name for node in traced.nodes)]:
        fresh = name
        while fresh in taken:
            fresh += "_"
        taken.add(fresh)
        renamed[name] = fresh

    def rename(ref: Ref) -> Ref:
        return Ref(renamed[ref.name])

    nodes = []
    for node in traced.nodes:
        if not is_aten_level(node.target):
            raise GraphError(f"{node.target} is left over after lowering", node=node.name)
        nodes.append(node.with_refs(rename, renamed[node.name]))
    return Graph(
        inputs=(
            *source.inputs,
            *(replace(entry, name=renamed[name]) for name, entry in constants.items()),
        ),
        nodes=tuple(nodes),
        output=map_refs(traced.output, rename),
        level=Level.ATEN,
        symbols=tuple({s.name: s for s in (*source.symbols, *traced.symbols)}.values()),
        constraints=source.constraints,
        provenance=source.provenance,
    )


def _constant(module: fx.GraphModule, entry: Input) -> Input:
    tensor = getattr(module, entry.name)
    spec = spec_of(tensor, SymbolTable())
    return Input(entry.name, spec, constant_of(tensor), Role.CONSTANT)  # type: ignore[arg-type]
