"""Convert the programs of ``torch.export`` to Graphs of level ``aten``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    TensorArgument,
)

from graph_net.graph.errors import GraphError
from graph_net.graph.fx import MAX_CONSTANT_ELEMENTS, constant_of, from_fx, recipe_of
from graph_net.graph.graph import Graph, Input, Level, Provenance, Role
from graph_net.graph.recipe import Recipe
from graph_net.graph.schema import tidy

_ROLES = {
    InputKind.PARAMETER: Role.PARAMETER,
    InputKind.BUFFER: Role.BUFFER,
    InputKind.CONSTANT_TENSOR: Role.CONSTANT,
    InputKind.USER_INPUT: Role.INPUT,
}
_INLINED = frozenset({"wrap_with_set_grad_enabled", "wrap_with_autocast"})


def graph_of_program(
    program: ExportedProgram,
    provenance: Provenance,
    examples: Sequence[torch.Tensor] = (),
    symbols: Mapping[str, str] | None = None,
) -> Graph:
    """Return the Graph of an exported program, its state as inputs with statistics.

    ``examples`` are the tensors it was called with, in order; their values make the recipes of
    the user inputs. ``symbols`` renames torch's symbols.
    """
    module = program.graph_module
    inline_regions(module)
    tidy(module)
    reader = _StateReader(program, examples)
    graph = from_fx(
        module, level=Level.ATEN, roles=reader.roles, provenance=provenance, symbols=symbols
    )
    return replace(graph, inputs=tuple(reader.describe(entry) for entry in graph.inputs))


class _StateReader:
    """Finds each placeholder's role in the model and a recipe like its values."""

    def __init__(self, program: ExportedProgram, examples: Sequence[torch.Tensor]) -> None:
        remaining = iter(examples)
        self.state: dict[str, Any] = {**dict(program.state_dict), **dict(program.constants)}
        self.targets: dict[str, str] = {}
        self.examples: dict[str, torch.Tensor | None] = {}
        self.roles: dict[str, Role] = {}
        for spec in program.graph_signature.input_specs:
            if spec.kind not in _ROLES:
                raise GraphError(f"an input of kind {spec.kind.name} cannot be stored in a graph")
            name = spec.arg.name
            self.roles[name] = _ROLES[spec.kind]
            if spec.target is not None:
                self.targets[name] = spec.target
            if isinstance(spec.arg, ConstantArgument):
                self._drop(program.graph_module, name)
            elif spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument):
                self.examples[name] = next(remaining, None)
        kinds = {spec.kind for spec in program.graph_signature.output_specs}
        if kinds - {OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION}:
            raise GraphError("outputs other than the model's own cannot be stored")

    def _drop(self, module: fx.GraphModule, name: str) -> None:
        """Erase the unused placeholder of a Python argument that export made a constant."""
        for node in module.graph.find_nodes(op="placeholder"):
            if node.name == name and not node.users:
                module.graph.erase_node(node)
                del self.roles[name]

    def describe(self, entry: Input) -> Input:
        """Return the input with its name in the model and a recipe like its values."""
        target = self.targets.get(entry.name)
        value = self.examples.get(entry.name) if target is None else self.state.get(target)
        if isinstance(value, torch.Tensor):
            entry = replace(entry, recipe=_recipe(entry, value))
        return entry if target is None else replace(entry, original=target)


def _recipe(entry: Input, value: torch.Tensor) -> Recipe:
    """Return a recipe that imitates a value; a constant table in the code is kept exactly."""
    real = type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type != "meta"
    if entry.role is Role.CONSTANT and real and value.numel() <= MAX_CONSTANT_ELEMENTS:
        return constant_of(value)
    return recipe_of(value)


def inline_regions(module: fx.GraphModule) -> None:
    """Inline the bodies of grad-mode and (disabled) autocast regions where they are called."""
    for node in list(module.graph.nodes):
        if node.op != "call_function" or getattr(node.target, "__name__", "") not in _INLINED:
            continue
        submodule = next(a for a in node.args if isinstance(a, fx.Node) and a.op == "get_attr")
        position = node.args.index(submodule)
        if node.target.__name__ == "wrap_with_autocast" and node.args[2] is not False:
            raise GraphError("a region with autocast enabled cannot be inlined", node=node.name)
        body = getattr(module, str(submodule.target))
        inline_regions(body)
        _inline(module, node, body, node.args[position + 1 :])
        if not submodule.users:
            module.graph.erase_node(submodule)


def _inline(
    module: fx.GraphModule, call: fx.Node, body: fx.GraphModule, args: tuple[Any, ...]
) -> None:
    values: dict[fx.Node, Any] = {}
    operands = iter(args)
    result: Any = None
    with module.graph.inserting_before(call):
        for node in body.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(operands)
            elif node.op == "output":
                result = fx.map_arg(node.args[0], values.__getitem__)
            elif node.op == "get_attr":
                name = re.sub(r"\W", "_", f"{call.name}_{node.target}")
                setattr(module, name, getattr(body, str(node.target)))
                values[node] = module.graph.get_attr(name)
                values[node].meta = dict(node.meta)
            else:
                values[node] = module.graph.node_copy(node, values.__getitem__)
    for user in list(call.users):
        if isinstance(result, (tuple, list)):
            user.replace_all_uses_with(result[int(user.args[1])])  # type: ignore[arg-type]
            module.graph.erase_node(user)
    if not isinstance(result, (tuple, list)):
        call.replace_all_uses_with(result)
    module.graph.erase_node(call)
