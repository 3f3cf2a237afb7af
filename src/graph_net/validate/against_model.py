"""The comparison of a graph with its model, on the same values."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from graph_net.capture.bind import bind
from graph_net.capture.weights import without_weights
from graph_net.capture.zoo.zoo import Call, Zoo, ZooEntry
from graph_net.graph import Graph, GraphError, Role
from graph_net.graph.execute import flat_outputs, interpret, make_input
from graph_net.rewrite.compose import run_context
from graph_net.validate.compare import largest_difference


def compare_with_model(graph: Graph, zoo: Zoo) -> tuple[float, str]:
    """Return the largest difference between a model's outputs and its graph's, and what is wrong.

    The model is built again; its parameters, buffers and inputs get the values of the graph's
    recipes.
    """
    origin = graph.provenance
    source = ZooEntry(
        origin.library, origin.model, origin.category, origin.subcategory, tuple(origin.tags)
    )
    with without_weights():
        call = zoo.build(source)
    fill(call.model, graph)
    call = with_inputs(call, graph)
    inputs = bind(graph, call.model, call.args, call.kwargs)
    for position, entry in enumerate(graph.inputs):
        if entry.role is not Role.CONSTANT:
            continue
        own = _find_tensor(call.model, entry.original or "")
        if own is not None and own.shape == inputs[position].shape:
            inputs[position] = own.detach()
    with run_context():
        expected = call.model(*_clone(call.args), **_clone(dict(call.kwargs)))
    fill(call.model, graph)  # the model may have changed its buffers in place
    with run_context():
        outputs = flat_outputs(interpret(graph, _clone(inputs), torch.device("cpu")))
    wanted = [leaf for leaf in tree_flatten(expected)[0] if isinstance(leaf, torch.Tensor)]
    return largest_difference(wanted, [leaf for leaf in outputs if isinstance(leaf, torch.Tensor)])


def fill(model: nn.Module, graph: Graph) -> None:
    """Give a model's parameters and buffers the values of the graph's recipes.

    Those that the graph lacks are zero; tied weights stay tied.
    """
    entries = {e.original: e for e in graph.inputs if e.original and e.role is not Role.INPUT}
    filled: dict[int, torch.Tensor] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        for table in (module._parameters, module._buffers):
            for name, old in table.items():
                if old is None:
                    continue
                if id(old) not in filled:
                    filled[id(old)] = _value_for(graph, entries, f"{path}.{name}".lstrip("."), old)
                new = filled[id(old)]
                filled[id(new)] = new
                table[name] = new
    for module in model.modules():
        for name, old in module._parameters.items():
            if old is not None and not isinstance(old, nn.Parameter):
                module._parameters[name] = nn.Parameter(old, requires_grad=False)


def _value_for(graph: Graph, entries: dict[str, Any], name: str, old: torch.Tensor) -> torch.Tensor:
    if name not in entries:
        is_meta = old.device.type == "meta"
        return torch.zeros(old.shape, dtype=old.dtype) if is_meta else old.detach()
    value = make_input(graph, entries[name])
    if value.shape != old.shape or value.dtype != old.dtype:
        raise GraphError(
            f"{name} is {old.dtype} {tuple(old.shape)} in the model, "
            f"{value.dtype} {tuple(value.shape)} in the graph"
        )
    tensor: torch.Tensor = value
    return tensor


def with_inputs(call: Call, graph: Graph) -> Call:
    """Return the call with the graph's recipes as the values of its tensors."""
    leaves, shape = tree_flatten((tuple(call.args), dict(call.kwargs)))
    entries = iter([entry for entry in graph.inputs if entry.role is Role.INPUT])
    values = [
        make_input(graph, next(entries)) if isinstance(leaf, torch.Tensor) else leaf
        for leaf in leaves
    ]
    args, kwargs = tree_unflatten(values, shape)
    return Call(call.model, args, kwargs)


def _find_tensor(model: nn.Module, path: str) -> torch.Tensor | None:
    value: Any = model
    for part in path.split("."):
        value = getattr(value, part, None)
    return value if isinstance(value, torch.Tensor) and value.device.type != "meta" else None


def _clone(nest: Any) -> Any:
    leaves, shape = tree_flatten(nest)
    return tree_unflatten(
        [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], shape
    )
