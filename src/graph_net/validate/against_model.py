"""The model itself beside its graph, on the same values."""

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
from graph_net.validate.compare import difference


def against_model(graph: Graph, zoo: Zoo) -> tuple[float, str]:
    """The largest difference between a model's outputs and its graph's, and what is wrong.

    The model is built once more; its parameters and buffers, and the inputs it is called with, get
    the values that the graph's recipes give.
    """
    origin = graph.provenance
    entry = ZooEntry(
        origin.library, origin.model, origin.category, origin.subcategory, tuple(origin.tags)
    )
    with without_weights():
        call = zoo.build(entry)
    fill(call.model, graph)
    call = with_inputs(call, graph)
    inputs = bind(graph, call.model, call.args, call.kwargs)
    for position, given in enumerate(graph.inputs):
        if given.role is not Role.CONSTANT:
            continue
        own = _attribute(call.model, given.original or "")
        if own is not None and own.shape == inputs[position].shape:
            inputs[position] = own.detach()
    with run_context():
        expected = call.model(*_clones(call.args), **_clones(dict(call.kwargs)))
    # What the model changed in place it must not find changed.
    fill(call.model, graph)
    with run_context():
        got = interpret(graph, _clones(inputs), torch.device("cpu"))
    wanted = [leaf for leaf in tree_flatten(expected)[0] if isinstance(leaf, torch.Tensor)]
    found = [leaf for leaf in flat_outputs(got) if isinstance(leaf, torch.Tensor)]
    return difference(wanted, found)


def fill(model: nn.Module, graph: Graph) -> None:
    """Give a model's parameters and buffers the values of the graph's recipes.

    What the graph does not have is zero; tied weights stay tied.
    """
    wanted = {e.original: e for e in graph.inputs if e.original and e.role is not Role.INPUT}
    made: dict[int, torch.Tensor] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        for table in (module._parameters, module._buffers):
            for name, old in table.items():
                if old is None:
                    continue
                if id(old) not in made:
                    made[id(old)] = _value(graph, wanted, f"{path}.{name}".lstrip("."), old)
                new = made[id(old)]
                made[id(new)] = new
                table[name] = new
    for module in model.modules():
        for name, old in module._parameters.items():
            if old is not None and not isinstance(old, nn.Parameter):
                module._parameters[name] = nn.Parameter(old, requires_grad=False)


def _value(graph: Graph, wanted: dict[str, Any], name: str, old: torch.Tensor) -> torch.Tensor:
    if name not in wanted:
        return (
            torch.zeros(old.shape, dtype=old.dtype) if old.device.type == "meta" else old.detach()
        )
    value = make_input(graph, wanted[name])
    if value.shape != old.shape or value.dtype != old.dtype:
        raise GraphError(
            f"{name} is {old.dtype} {tuple(old.shape)} in the model, "
            f"{value.dtype} {tuple(value.shape)} in the graph"
        )
    tensor: torch.Tensor = value
    return tensor


def with_inputs(call: Call, graph: Graph) -> Call:
    """The call with the values of the graph's recipes for the tensors it is given."""
    leaves, shape = tree_flatten((tuple(call.args), dict(call.kwargs)))
    given = iter([entry for entry in graph.inputs if entry.role is Role.INPUT])
    made = [
        make_input(graph, next(given)) if isinstance(leaf, torch.Tensor) else leaf
        for leaf in leaves
    ]
    args, kwargs = tree_unflatten(made, shape)
    return Call(call.model, args, kwargs)


def _attribute(model: nn.Module, path: str) -> torch.Tensor | None:
    value: Any = model
    for part in path.split("."):
        value = getattr(value, part, None)
    return value if isinstance(value, torch.Tensor) and value.device.type != "meta" else None


def _clones(nest: Any) -> Any:
    leaves, shape = tree_flatten(nest)
    return tree_unflatten(
        [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], shape
    )
