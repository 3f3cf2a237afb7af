"""Graph to ``torch.fx.GraphModule`` and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

from graph_net.graph.devices import without_devices
from graph_net.graph.errors import GraphError, RefusedCall, UnknownTarget
from graph_net.graph.graph import (
    Graph,
    Input,
    Level,
    Node,
    Provenance,
    Role,
    default_local,
    role_by_name,
)
from graph_net.graph.guard import check_call
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe
from graph_net.graph.resolve import name_of, resolve
from graph_net.graph.runtime import SymbolTable, arguments, from_python, spec_of, to_python
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.graph.targets import check_target
from graph_net.graph.values import Ref

META = "graph_net"
"""The ``meta`` key under which a GraphModule made from a Graph keeps what FX cannot express."""
LITERAL_ELEMENTS = 64
MAX_CONSTANT_ELEMENTS = 65_536


# -- to FX ------------------------------------------------------------------------------------


def to_fx(graph: Graph, device: torch.device | str = "cpu") -> fx.GraphModule:
    """Return a GraphModule whose placeholders are the graph's inputs, in order.

    Calls with unsafe constants are refused here, before a compiler sees them; arguments that depend
    on values are checked when the graph is run.
    """
    device = torch.device(device)
    fx_graph = fx.Graph()
    nodes: dict[str, fx.Node] = {}
    for entry in graph.inputs:
        local = entry.local or default_local(entry.name)
        nodes[entry.name] = fx_graph.create_node(
            "placeholder", entry.name, name=local, type_expr=_annotation(entry)
        )
    for call in graph.nodes:
        function = resolve(call.target)
        try:
            args, kwargs = arguments(call, nodes.__getitem__, device)
            check_call(call.target, function, args, kwargs)
        except RefusedCall as error:
            raise RefusedCall(error.reason, node=call.name, field="args") from error
        if call.target.startswith("method:"):
            node = fx_graph.create_node("call_method", call.target[7:], args, kwargs, call.name)
        else:
            node = fx_graph.create_node("call_function", function, args, kwargs, call.name)
        if call.result is not None:
            node.meta[META] = call.result
        nodes[call.name] = node
    fx_graph.output(to_python(graph.output, nodes.__getitem__, device))
    module = fx.GraphModule(torch.nn.Module(), fx_graph)
    module.meta[META] = graph
    return module


def _annotation(entry: Input) -> Any:
    if isinstance(entry.spec, ScalarSpec):
        kinds = {"int": torch.SymInt, "float": torch.SymFloat, "bool": torch.SymBool}
        return kinds[entry.spec.kind]
    return torch.nn.parameter.Parameter if entry.role is Role.PARAMETER else torch.Tensor


# -- from FX ----------------------------------------------------------------------------------


def from_fx(
    module: fx.GraphModule,
    example_inputs: Sequence[Any] | None = None,
    *,
    level: Level = Level.TORCH,
    roles: Mapping[str, Role] | None = None,
    provenance: Provenance | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Graph:
    """Return the Graph of a GraphModule.

    Specs come from ``example_inputs``, else from the tensors FX passes leave in the nodes'
    ``meta``, else from the Graph that the module was made from. Parameters, buffers and constants
    of the module become inputs after its placeholders. ``symbols`` maps torch's names of symbols
    to other names.
    """
    reader = _FxReader(module, example_inputs, level, roles or {}, provenance)
    reader.symbols.names = symbols or {}
    return reader.read()


class _FxReader:
    def __init__(
        self,
        module: fx.GraphModule,
        examples: Sequence[Any] | None,
        level: Level,
        roles: Mapping[str, Role],
        provenance: Provenance | None,
    ) -> None:
        self.module, self.roles = module, roles
        self.examples = None if examples is None else iter(examples)
        origin = module.meta.get(META)
        self.origin = origin if isinstance(origin, Graph) else None
        self.level = self.origin.level if self.origin else level
        self.provenance = provenance or (self.origin.provenance if self.origin else Provenance())
        self.symbols = SymbolTable()
        self.names: dict[fx.Node, str] = {}
        self.states: dict[str, Input] = {}
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []

    def read(self) -> Graph:
        output: Any = None
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "get_attr":
                self._state(node)
            elif node.op in ("call_function", "call_method"):
                self._call(node)
            elif node.op == "output":
                output = from_python(node.args[0], self._ref)
            else:
                raise GraphError(
                    f"calls the module {node.target!r}; trace with torch.export or Dynamo, "
                    "which inline modules",
                    node=node.name,
                )
        origin = self.origin
        symbols = {symbol.name: symbol for symbol in (origin.symbols if origin else ())}
        symbols |= self.symbols.symbols
        return Graph(
            inputs=(*self.inputs, *self.states.values()),
            nodes=tuple(self.nodes),
            output=output,
            level=self.level,
            symbols=tuple(symbols.values()),
            constraints=origin.constraints if origin else (),
            provenance=self.provenance,
        )

    def _ref(self, value: Any) -> Ref | None:
        return Ref(self.names[value]) if isinstance(value, fx.Node) else None

    def _placeholder(self, node: fx.Node) -> None:
        name = str(node.target)
        self.names[node] = name
        original = self.origin.index.get(name) if self.origin else None
        if self.examples is None and isinstance(original, Input):
            self.inputs.append(original)
            return
        example = next(self.examples, None) if self.examples is not None else _meta_value(node)
        if example is None:
            raise GraphError(
                "the shape of this placeholder is unknown; pass example_inputs", node=name
            )
        local = node.name if node.name != default_local(name) else None
        role = self.roles.get(name)
        if role is None:
            role = role_by_name(name, isinstance(example, torch.nn.Parameter))
        self.inputs.append(input_of(name, example, self.symbols, role, local))

    def _state(self, node: fx.Node) -> None:
        target = str(node.target)
        value: Any = self.module
        for part in target.split("."):
            value = getattr(value, part, None)
        if not isinstance(value, torch.Tensor):
            raise GraphError(f"reads {target!r}, which is not a tensor", node=node.name)
        if target not in self.states:
            role = Role.CONSTANT
            if target in dict(self.module.named_parameters()):
                role = Role.PARAMETER
            elif target in dict(self.module.named_buffers()):
                role = Role.BUFFER
            name = re.sub(r"\W", "_", target)
            self.states[target] = input_of(name, value, self.symbols, role)
        self.names[node] = self.states[target].name

    def _call(self, node: fx.Node) -> None:
        if node.op == "call_method":
            target: str | None = f"method:{node.target}"
        else:
            target = name_of(node.target)
        if target is None:
            raise UnknownTarget(
                f"{getattr(node.target, '__name__', node.target)} is not on the allow-list",
                node=node.name,
                field="target",
            )
        args = tuple(from_python(value, self._ref) for value in node.args)
        kwargs = tuple((key, from_python(value, self._ref)) for key, value in node.kwargs.items())
        target, args, kwargs = without_devices(target, args, kwargs)
        check_target(target, node.name)
        result: Result = node.meta.get(META)
        if result is None:
            result = spec_of(_meta_value(node), self.symbols)
        self.nodes.append(Node(node.name, target, args, kwargs, result))
        self.names[node] = node.name


def _meta_value(node: fx.Node) -> Any:
    value = node.meta.get("val")
    return node.meta.get("example_value") if value is None else value


def input_of(
    name: str, value: Any, symbols: SymbolTable, role: Role | None = None, local: str | None = None
) -> Input:
    """Return an Input that describes a tensor or number, its recipe taken from the values."""
    spec = spec_of(value, symbols)
    if isinstance(spec, ScalarSpec):
        if spec.expr is not None:
            value = spec.expr.value({s.name: s.example for s in symbols.symbols.values()})
        return Input(name, spec, Constant(value), role or Role.INPUT, local)
    if not isinstance(spec, TensorSpec):
        raise GraphError(f"an input of type {type(value).__name__} cannot be stored", node=name)
    return Input(name, spec, recipe_of(value), role or Role.INPUT, local)


def recipe_of(tensor: torch.Tensor) -> Recipe:
    """Return a recipe that imitates a tensor: its values if they are few, else statistics.

    A mask with infinities has no statistics: its values are kept if they are not too many, else
    the finite ones give the statistics.
    """
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type == "meta":
        # A fake tensor has no values.
        if tensor.dtype == torch.bool:
            return Bernoulli()
        floating = tensor.is_floating_point() or tensor.is_complex()
        return Normal(0.0, 1.0) if floating else Integers(0, 1)
    tensor = tensor.detach()
    if tensor.numel() < LITERAL_ELEMENTS:
        return Literal(tuple(tensor.cpu().reshape(-1).tolist()))
    if tensor.dtype == torch.bool:
        return Bernoulli(float(tensor.float().mean()))
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if tensor.is_floating_point():
        wide = tensor.double() if tensor.numel() < 1 << 24 else tensor.float()
        finite = wide.isfinite()
        if not bool(finite.all()):
            if tensor.numel() <= MAX_CONSTANT_ELEMENTS and not bool(wide.isnan().any()):
                return Literal(tuple(tensor.cpu().reshape(-1).tolist()))
            wide = wide[finite] if int(finite.sum()) > 1 else torch.zeros(2)
        low, high = float(wide.min()), float(wide.max())  # a variance must not be drawn negative
        return Normal(float(wide.mean()), float(wide.std()), low, high)
    return Integers(int(tensor.min()), int(tensor.max()))


def constant_of(tensor: torch.Tensor) -> Literal:
    """Return a recipe that keeps a tensor's values exactly."""
    if tensor.numel() > MAX_CONSTANT_ELEMENTS:
        raise GraphError(
            f"a constant of {tensor.numel()} elements; at most {MAX_CONSTANT_ELEMENTS} are stored"
        )
    return Literal(tuple(tensor.detach().cpu().reshape(-1).tolist()))
