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
"""Where a GraphModule made from a Graph keeps what FX itself has no place for."""
LITERAL_ELEMENTS = 64
MAX_CONSTANT_ELEMENTS = 65_536


# -- to FX ------------------------------------------------------------------------------------


def to_fx(graph: Graph, device: torch.device | str = "cpu") -> fx.GraphModule:
    """A GraphModule whose placeholders are the graph's inputs, in order.

    Constants that a call must not be made with are refused here, before a compiler sees them; what
    depends on values is checked where the graph is run.
    """
    device = torch.device(device)
    made = fx.Graph()
    nodes: dict[str, fx.Node] = {}
    for entry in graph.inputs:
        local = entry.local or default_local(entry.name)
        node = made.create_node("placeholder", entry.name, name=local, type_expr=_annotation(entry))
        nodes[entry.name] = node
    for call in graph.nodes:
        function = resolve(call.target)
        try:
            args, kwargs = arguments(call, nodes.__getitem__, device)
            check_call(call.target, function, args, kwargs)
        except RefusedCall as error:
            raise RefusedCall(error.reason, node=call.name, field="args") from error
        if call.target.startswith("method:"):
            node = made.create_node("call_method", call.target[7:], args, kwargs, call.name)
        else:
            node = made.create_node("call_function", function, args, kwargs, call.name)
        if call.result is not None:
            node.meta[META] = call.result
        nodes[call.name] = node
    made.output(to_python(graph.output, nodes.__getitem__, device))
    module = fx.GraphModule(torch.nn.Module(), made)
    module.meta[META] = graph
    return module


def _annotation(entry: Input) -> Any:
    if isinstance(entry.spec, ScalarSpec):
        return {"int": torch.SymInt, "float": torch.SymFloat, "bool": torch.SymBool}[
            entry.spec.kind
        ]
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
    """The Graph of a GraphModule.

    Specifications come from ``example_inputs``, else from the tensors FX passes leave in the
    nodes' ``meta``, else from the Graph that the module was made from. Parameters, buffers and
    constants that the module holds become inputs after its placeholders. ``symbols`` renames
    what torch calls a symbol.
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
        self.module = module
        self.examples = None if examples is None else iter(examples)
        self.origin = module.meta.get(META)
        self.level = self.origin.level if isinstance(self.origin, Graph) else level
        self.roles = roles
        self.provenance = provenance
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
                    f"calls the module {node.target!r}; trace it with torch.export or Dynamo, "
                    "which look inside",
                    node=node.name,
                )
        origin = self.origin if isinstance(self.origin, Graph) else None
        symbols = {symbol.name: symbol for symbol in (origin.symbols if origin else ())}
        symbols |= self.symbols.found
        return Graph(
            inputs=(*self.inputs, *self.states.values()),
            nodes=tuple(self.nodes),
            output=output,
            level=self.level,
            symbols=tuple(symbols.values()),
            constraints=origin.constraints if origin else (),
            provenance=self.provenance or (origin.provenance if origin else Provenance()),
        )

    def _ref(self, value: Any) -> Ref | None:
        return Ref(self.names[value]) if isinstance(value, fx.Node) else None

    def _placeholder(self, node: fx.Node) -> None:
        name = str(node.target)
        self.names[node] = name
        known = self.origin.index.get(name) if isinstance(self.origin, Graph) else None
        if self.examples is None and isinstance(known, Input):
            self.inputs.append(known)
            return
        example = next(self.examples, None) if self.examples is not None else _meta_value(node)
        if example is None:
            raise GraphError(
                "nothing tells the shape of this placeholder; pass example_inputs", node=name
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
            raise GraphError(f"reads {target!r}, which is no tensor", node=node.name)
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
    name: str,
    value: Any,
    symbols: SymbolTable,
    role: Role | None = None,
    local: str | None = None,
) -> Input:
    """An Input that describes a tensor or number, with a recipe made from its values if it has."""
    spec = spec_of(value, symbols)
    if isinstance(spec, ScalarSpec):
        example = (
            spec.expr.value({s.name: s.example for s in symbols.found.values()})
            if spec.expr is not None
            else value
        )
        return Input(name, spec, Constant(example), role or Role.INPUT, local)
    if not isinstance(spec, TensorSpec):
        raise GraphError(f"an input of type {type(value).__name__} cannot be stored", node=name)
    return Input(name, spec, recipe_of(value), role or Role.INPUT, local)


def recipe_of(tensor: torch.Tensor) -> Recipe:
    """A recipe that imitates a tensor: its literal values if few, else its statistics.

    A mask of infinities has no statistics: its values are kept while they are not too many, and
    beyond that its finite ones decide.
    """
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type == "meta":
        # A fake tensor has no values to look at.
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
    """A recipe that keeps a tensor's values exactly."""
    if tensor.numel() > MAX_CONSTANT_ELEMENTS:
        raise GraphError(
            f"a constant of {tensor.numel()} elements; at most {MAX_CONSTANT_ELEMENTS} are stored"
        )
    return Literal(tuple(tensor.detach().cpu().reshape(-1).tolist()))
