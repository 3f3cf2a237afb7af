"""Capture training: forward and backward joined by AOTAutograd, or either part.

The loss is the sum of the means of all floating-point outputs: a real loss adds a few operators
at the end, and the gradients flow through the whole model either way.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from graph_net.graph.errors import GraphError
from graph_net.graph.fx import from_fx
from graph_net.graph.graph import Graph, Input, Level, Provenance, Role
from graph_net.graph.recipe import Normal
from graph_net.graph.schema import tidy
from graph_net.graph.spec import TensorSpec

MODES = ("inference", "training", "forward", "backward")
MODE = "mode"
"""The provenance option that holds the mode; without it a graph is inference."""


@dataclass
class _Traces:
    """The joint graph that AOTAutograd makes, and its two parts."""

    joint: fx.GraphModule | None = None
    forward: fx.GraphModule | None = None
    backward: fx.GraphModule | None = None


def _loss(outputs: Any) -> torch.Tensor:
    means = [
        leaf.float().mean()
        for leaf in tree_leaves(outputs)
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.requires_grad
    ]
    if not means:
        raise GraphError("no output of the model has a gradient: none depends on a parameter")
    return sum(means[1:], means[0])


def capture_training(
    model: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    provenance: Provenance,
    mode: str,
    fake: FakeTensorMode,
) -> Graph:
    """Return the joint graph of a training step, or its forward or backward part.

    The model is put into training mode and back afterwards.
    """
    was_training = model.training
    model.train()
    try:
        traces = _trace(model, (tuple(args), dict(kwargs)), fake)
    finally:
        model.train(was_training)
    parts = {"training": traces.joint, "forward": traces.forward, "backward": traces.backward}
    module = parts[mode]
    if module is None:
        raise GraphError(f"AOTAutograd made no {mode} graph")
    origin = replace(provenance, options=(*provenance.options, (MODE, mode)))
    tidy(module)
    graph = from_fx(module, level=Level.ATEN, roles=_roles(module, model), provenance=origin)
    return replace(graph, inputs=tuple(_describe(entry, model) for entry in graph.inputs))


def _trace(model: nn.Module, call: tuple[Any, Any], fake: FakeTensorMode) -> _Traces:
    from torch._functorch.aot_autograd import aot_function
    from torch._functorch.partitioners import default_partition

    leaves, tree = tree_flatten(call)
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    traces = _Traces()

    def step(*values: Any) -> torch.Tensor:
        """Return the loss as a function of state and inputs."""
        state = dict(zip(named, values, strict=False))
        args, kwargs = tree_unflatten(list(values[len(named) :]), tree)
        return _loss(torch.func.functional_call(model, state, args, kwargs, tie_weights=True))

    def partition(joint: fx.GraphModule, inputs: Any, **options: Any) -> Any:
        traces.joint = copy.deepcopy(joint)
        return default_partition(joint, inputs, **options)

    def save_as(name: str) -> Callable[..., Any]:
        def compiler(module: fx.GraphModule, examples: Any) -> Any:
            setattr(traces, name, module)
            return module

        return compiler

    compiled = aot_function(
        step,
        fw_compiler=save_as("forward"),
        bw_compiler=save_as("backward"),
        partition_fn=partition,
    )
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        # oneDNN's recurrent layer is an operator of one build; without it the layer is traced as
        # the operators that it consists of.
        with torch.backends.mkldnn.flags(enabled=False):
            # On tensors without values: the step must leave no gradient and no statistics behind.
            loss = compiled(*(_make_fake(value, fake) for value in (*named.values(), *leaves)))
            if traces.backward is None:
                loss.backward()
    return traces


def _make_fake(value: Any, fake: FakeTensorMode) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    tensor = value if isinstance(value, FakeTensor) else fake.from_tensor(value, static_shapes=True)
    return tensor.detach().requires_grad_(value.requires_grad)


def _roles(module: fx.GraphModule, model: nn.Module) -> dict[str, Role]:
    """Return each placeholder's role; AOTAutograd numbers parameters, buffers, then inputs."""
    state = _state(model)
    roles = {}
    for node in module.graph.find_nodes(op="placeholder"):
        index = primal_index(node.name)
        in_state = index is not None and index < len(state)
        roles[str(node.target)] = state[index or 0][1] if in_state else Role.INPUT
    return roles


def _state(model: nn.Module) -> list[tuple[str, Role]]:
    parameters = [(name, Role.PARAMETER) for name, _ in model.named_parameters()]
    return parameters + [(name, Role.BUFFER) for name, _ in model.named_buffers()]


def primal_index(name: str) -> int | None:
    """Return the position of the input that AOTAutograd names ``primals_1``, ``primals_2``, …"""
    number = name.removeprefix("primals_")
    return int(number) - 1 if name.startswith("primals_") and number.isdecimal() else None


def _describe(entry: Input, model: nn.Module) -> Input:
    state, index = _state(model), primal_index(entry.name)
    if index is not None and index < len(state):
        return replace(entry, original=state[index][0])
    scalar = isinstance(entry.spec, TensorSpec) and not entry.spec.shape
    if entry.name.startswith("tangents_") and scalar:
        return replace(entry, recipe=Normal(1.0, 0.0))  # the gradient of the loss by itself
    return entry
