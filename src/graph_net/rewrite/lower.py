"""Level ``torch`` to level ``aten``: pre-dispatch operators with schema-normalised arguments.

The graph is interpreted once under fake tensors while ``make_fx`` writes down the operators that
are called, so no weight exists in memory. A value that decides control flow or a size through
``.item()`` is not known to a fake tensor; where it can be computed from stored literals it is
computed first and used.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from graph_net.graph.effects import base_name, changes_autocast, draws_random, mutated
from graph_net.graph.errors import GraphError
from graph_net.graph.execute import call_node, fake_inputs, interpret, make_input
from graph_net.graph.fx import constant_of, from_fx
from graph_net.graph.graph import Graph, Input, Level, Node, Role
from graph_net.graph.recipe import Constant, Literal
from graph_net.graph.runtime import SymbolTable, spec_of
from graph_net.graph.targets import is_aten_level
from graph_net.graph.values import Ref, map_refs

SCALAR_READS = frozenset(
    {"item", "tolist", "_local_scalar_dense", "__bool__", "__int__", "__float__", "_is_all_true"}
)
AUTOCAST = frozenset(
    {"torch.amp.autocast_mode._enter_autocast", "torch.amp.autocast_mode._exit_autocast"}
)
NO_COMPUTATION = AUTOCAST | frozenset(
    [
        "torch._C._set_grad_enabled",
        "torch._C._log_api_usage_once",
        "torch.autograd.function.FunctionCtx",
        "torch.autograd.grad_mode._enter_inference_mode",
        "torch.autograd.grad_mode._exit_inference_mode",
        "torch._check",
        "torch._check_is_size",
        "torch._assert",
        "torch._assert_async",
    ]
)
ASSERTIONS = frozenset(
    [
        "_assert_tensor_metadata",
        "_assert_scalar",
        "_assert_async",
        "sym_constrain_range",
        "_functional_assert_async",
        "sym_constrain_range_for_size",
        "_functional_assert_scalar",
        "_functional_sym_constrain_range",
    ]
)
FOLD_ELEMENTS = 1 << 20
SPECIALISED = "specialised_values"


def to_aten(graph: Graph) -> Graph:
    """The same computation in ATen operators.

    Where a decision depends on input values that are not literals, the values drawn with seed 0
    decide, and the provenance says so under ``specialised_values``.
    """
    if graph.level is Level.ATEN:
        return graph
    # Automatic casts happen below the level that pre-dispatch tracing sees; a graph that switches
    # them on is traced after dispatch, where they are calls like any other.
    casts = any(changes_autocast(node) for node in graph.nodes)
    skipped = {
        node.name: None
        for node in graph.nodes
        if node.target in NO_COMPUTATION and not (casts and node.target in AUTOCAST)
    }
    known = {**skipped, **_fold(graph, literal_only=True)}
    try:
        return _lower(graph, known, pre_dispatch=not casts)
    except GraphError:
        raise
    except Exception as first:
        # Unknown values decided something. With the values that a run would draw, try again.
        drawn = _fold(graph, literal_only=False)
        if drawn.keys() <= known.keys():
            raise _failure(first) from first
        try:
            lowered = _lower(graph, {**known, **drawn}, pre_dispatch=not casts)
        except Exception as error:
            raise _failure(error) from error
        options = dict(graph.provenance.options) | {
            SPECIALISED: tuple(sorted(drawn.keys() - known.keys()))
        }
        return lowered.with_provenance(options=tuple(sorted(options.items())))


def _failure(error: Exception) -> GraphError:
    notes = "; ".join(getattr(error, "__notes__", ()))
    text = str(error).strip().split("\n")[0][:200]
    return GraphError(f"cannot be lowered: {type(error).__name__}: {text} ({notes})")


def _lower(graph: Graph, known: Mapping[str, Any], pre_dispatch: bool) -> Graph:
    device = torch.device("cpu")
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    mode.allow_scalar_outputs = True
    examples = fake_inputs(graph, mode, device)

    def call(*inputs: Any) -> Any:
        return interpret(graph, inputs, device, known)

    with warnings.catch_warnings(), mode, torch.no_grad():
        warnings.simplefilter("ignore")
        traced = make_fx(call, tracing_mode="real", pre_dispatch=pre_dispatch)(*examples)
    _tidy(traced)
    return _as_graph(traced, graph)


def _tidy(module: fx.GraphModule) -> None:
    """Drop assertions and what nobody reads; bring arguments into the schema's own form."""
    for node in reversed(module.graph.nodes):
        if node.op != "call_function":
            continue
        if isinstance(node.target, OpOverload):
            if node.target._opname in ASSERTIONS and not node.users:
                module.graph.erase_node(node)
            else:
                node.args, node.kwargs = normalised(node.target, node.args, node.kwargs)
    module.graph.eliminate_dead_code()


def normalised(
    overload: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments in the order of the schema, without those that equal their defaults."""
    given = dict(kwargs)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    schema = overload._schema.arguments
    for position, argument in enumerate(schema):
        if position < len(args):
            value, present = args[position], True
        else:
            present = argument.name in given
            value = given.get(argument.name)
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


def _as_graph(module: fx.GraphModule, source: Graph) -> Graph:
    """The traced module as a Graph whose inputs are the source's, constants behind them."""
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

    def change(ref: Ref) -> Ref:
        return Ref(renamed[ref.name])

    nodes = []
    for node in traced.nodes:
        if not is_aten_level(node.target):
            raise GraphError(f"{node.target} is left over after lowering", node=node.name)
        nodes.append(
            Node(
                renamed[node.name],
                node.target,
                tuple(map_refs(value, change) for value in node.args),
                tuple((key, map_refs(value, change)) for key, value in node.kwargs),
                node.result,
            )
        )
    return Graph(
        inputs=(
            *source.inputs,
            *(replace(entry, name=renamed[name]) for name, entry in constants.items()),
        ),
        nodes=tuple(nodes),
        output=map_refs(traced.output, change),
        level=Level.ATEN,
        symbols=tuple({s.name: s for s in (*source.symbols, *traced.symbols)}.values()),
        constraints=source.constraints,
        provenance=source.provenance,
    )


def _constant(module: fx.GraphModule, entry: Input) -> Input:
    tensor = getattr(module, entry.name)
    spec = spec_of(tensor, SymbolTable())
    return Input(entry.name, spec, constant_of(tensor), Role.CONSTANT)  # type: ignore[arg-type]


# -- values that decide -----------------------------------------------------------------------


def _fold(graph: Graph, *, literal_only: bool) -> dict[str, Any]:
    """The numbers that ``.item()`` and its kin give, where they can be computed beforehand."""
    wanted = [n for n in graph.nodes if base_name(n.target) in SCALAR_READS]
    if not wanted:
        return {}
    needed = _ancestors(graph, wanted)
    values: dict[str, Any] = {}
    device = torch.device("cpu")
    for entry in graph.inputs:
        if entry.name in needed and _may_be_used(graph, entry, literal_only):
            values[entry.name] = make_input(graph, entry)
    written = {ref.name for node in graph.nodes for ref in _written(node)}
    with torch.inference_mode():
        for node in graph.nodes:
            if node.name not in needed or draws_random(node) or node.name in written:
                continue
            if node.target in NO_COMPUTATION or mutated(node):
                continue
            if any(ref.name not in values or ref.name in written for ref in node.refs):
                continue
            try:
                value = call_node(node, values, device)
            except Exception:  # noqa: S112 - not computable beforehand; the lowering itself will tell
                continue
            if not isinstance(value, torch.Tensor) or value.numel() <= FOLD_ELEMENTS:
                values[node.name] = value
    return {node.name: values[node.name] for node in wanted if node.name in values}


def _written(node: Node) -> list[Ref]:
    return [value for value in mutated(node) if isinstance(value, Ref)]


def _may_be_used(graph: Graph, entry: Input, literal_only: bool) -> bool:
    if isinstance(entry.recipe, (Literal, Constant)):
        return True
    spec = entry.spec
    return not literal_only and spec.elements(graph.bindings) <= FOLD_ELEMENTS  # type: ignore[union-attr]


def _ancestors(graph: Graph, wanted: list[Node]) -> set[str]:
    """Everything that the wanted nodes are computed from, and they themselves."""
    needed = {node.name for node in wanted}
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(ref.name for ref in node.refs)
    return needed
