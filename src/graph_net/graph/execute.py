"""Eager execution of a Graph: tensors from recipes, calls one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from graph_net.graph.errors import GraphError, RefusedCall
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.guard import guarded_call, watched_kernels
from graph_net.graph.outputs import flat_outputs as flat_outputs
from graph_net.graph.outputs import last_uses
from graph_net.graph.recipe import Constant
from graph_net.graph.runtime import arguments, to_python, torch_dtype
from graph_net.graph.spec import ScalarSpec
from graph_net.graph.tensors import draw


def make_input(
    graph: Graph, entry: Input, device: torch.device | str = "cpu", seed: int = 0
) -> Any:
    """Return the tensor (or number) of one input."""
    if isinstance(entry.spec, ScalarSpec):
        if not isinstance(entry.recipe, Constant):
            raise GraphError("a number takes a constant recipe", node=entry.name, field="recipe")
        return entry.recipe.value
    sizes = entry.spec.sizes(graph.bindings)
    try:
        tensor = draw(
            entry.recipe, sizes, entry.spec.dtype, name=entry.name, seed=seed, device=device
        )
    except ValueError as error:
        raise GraphError(str(error), node=entry.name, field="recipe") from error
    strides = entry.spec.strides(graph.bindings)
    if strides is None:
        return tensor
    if 0 in strides:
        # An expanded tensor stores one value for many.
        stored = tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
        narrow = torch.empty_strided(stored.shape, strides, dtype=tensor.dtype, device=device)
        return narrow.copy_(stored).expand(sizes)
    laid_out = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=device)
    return laid_out.copy_(tensor)


def make_inputs(graph: Graph, device: torch.device | str = "cpu", seed: int = 0) -> list[Any]:
    """Return fresh tensors for all inputs, in order; the values are the same on every machine."""
    return [make_input(graph, entry, device, seed) for entry in graph.inputs]


def run(
    graph: Graph,
    inputs: Sequence[Any] | None = None,
    *,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> Any:
    """Run a graph and return its outputs, nested as it returns them.

    ``inputs`` (positional, as ``make_inputs`` returns them) may be changed by graphs that mutate.
    Calls that draw random numbers start from ``seed``.
    """
    device = torch.device(device)
    values = make_inputs(graph, device, seed) if inputs is None else inputs
    devices = [device] if device.type == "cuda" else []
    with ExitStack() as stack:
        # A graph may call `torch._C._set_grad_enabled`, or fail between entering autocast and
        # leaving it; both are undone.
        stack.callback(torch._C._set_grad_enabled, torch.is_grad_enabled())
        stack.enter_context(restore_autocast())
        stack.enter_context(torch.random.fork_rng(devices=devices))
        stack.enter_context(torch.inference_mode())
        torch.manual_seed(seed)
        return interpret(graph, values, device)


@contextmanager
def restore_autocast() -> Iterator[None]:
    """Restore the autocast state on exit, whatever a graph did to it."""
    before = [
        (kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
        for kind in ("cpu", "cuda")
    ]
    cached, depth = torch.is_autocast_cache_enabled(), _autocast_depth()
    try:
        yield
    finally:
        for kind, enabled, dtype in before:
            torch.set_autocast_enabled(kind, enabled)
            torch.set_autocast_dtype(kind, dtype)
        torch.set_autocast_cache_enabled(cached)
        for _ in range(_autocast_depth() - depth):
            torch.autocast_decrement_nesting()
        if depth == 0:
            torch.clear_autocast_cache()


def _autocast_depth() -> int:
    """Return the autocast nesting depth, which torch reports only when it changes."""
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def interpret(
    graph: Graph,
    inputs: Sequence[Any],
    device: torch.device,
    known: Mapping[str, Any] | None = None,
) -> Any:
    """Make the calls in the current mode and return the outputs.

    Values in ``known`` are not computed.
    """
    if len(inputs) != len(graph.inputs):
        raise GraphError(f"{len(inputs)} inputs given; the graph takes {len(graph.inputs)}")
    known = known or {}
    values = {e.name: value for e, value in zip(graph.inputs, inputs, strict=True)}
    releases = last_uses(graph)
    with watched_kernels(), _leave_modes() as entered:
        for node, release in zip(graph.nodes, releases, strict=True):
            if node.name in known:
                values[node.name] = known[node.name]
            else:
                try:
                    values[node.name] = call_node(node, values, device)
                    if isinstance(values[node.name], torch._C._InferenceMode):
                        entered.append(values[node.name])
                except GraphError:
                    raise
                except Exception as error:
                    error.add_note(f"in node {node.name!r}, a call of {node.target}")
                    raise
            for name in release:
                del values[name]
    return to_python(graph.output, values.__getitem__, device)


@contextmanager
def _leave_modes() -> Iterator[list[Any]]:
    """Exit the modes that a graph has entered; one exited later would remove the guard."""
    entered: list[Any] = []
    try:
        yield entered
    finally:
        for mode in reversed(entered):
            mode.__exit__(None, None, None)


def call_node(node: Node, values: Mapping[str, Any], device: torch.device) -> Any:
    """Make one call, its references looked up in ``values``, and return its result."""
    try:
        args, kwargs = arguments(node, values.__getitem__, device)
        return guarded_call(node.target, args, kwargs)
    except RefusedCall as error:
        raise RefusedCall(error.reason, node=node.name, field="args") from error


def digest(outputs: Any) -> str:
    """Return a hash of all output values, bit for bit."""
    state = hashlib.sha256()
    for leaf in flat_outputs(outputs):
        if isinstance(leaf, torch.Tensor):
            state.update(f"{leaf.dtype}{tuple(leaf.shape)}".encode())
            raw = leaf.detach().cpu().contiguous().resolve_conj().resolve_neg()
            state.update(raw.reshape(-1).view(torch.uint8).numpy().tobytes())
        else:
            state.update(repr(leaf).encode())
    return state.hexdigest()


def fake_inputs(graph: Graph, mode: Any, device: torch.device | str = "cpu") -> list[Any]:
    """Return tensors without data, of the right shape and dtype, made in a FakeTensorMode."""
    with mode:
        return [_empty_input(graph, entry, device) for entry in graph.inputs]


def _empty_input(graph: Graph, entry: Input, device: torch.device | str) -> Any:
    if isinstance(entry.spec, ScalarSpec):
        return make_input(graph, entry)
    sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
    dtype = torch_dtype(entry.spec.dtype)
    if strides is None:
        return torch.empty(sizes, dtype=dtype, device=device)
    return torch.empty_strided(sizes, strides, dtype=dtype, device=device)
