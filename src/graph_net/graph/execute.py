"""Running a Graph eagerly: its tensors made from recipes, its calls made one after another."""

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
    """The tensor (or number) of one input."""
    if isinstance(entry.spec, ScalarSpec):
        if not isinstance(entry.recipe, Constant):
            raise GraphError("a number needs a constant recipe", node=entry.name, field="recipe")
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
        # An expanded tensor: one value in the place of many.
        kept = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)
        narrow = torch.empty_strided(tensor[kept].shape, strides, dtype=tensor.dtype, device=device)
        return narrow.copy_(tensor[kept]).expand(sizes)
    laid_out = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=device)
    return laid_out.copy_(tensor)


def make_inputs(graph: Graph, device: torch.device | str = "cpu", seed: int = 0) -> list[Any]:
    """Fresh tensors for every input, in order; the same values each time and everywhere."""
    return [make_input(graph, entry, device, seed) for entry in graph.inputs]


def run(
    graph: Graph,
    inputs: Sequence[Any] | None = None,
    *,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> Any:
    """The graph's outputs, nested as it returns them.

    ``inputs`` (positional, as ``make_inputs`` gives them) may be changed by graphs that mutate.
    Calls that draw random numbers start from ``seed``.
    """
    device = torch.device(device)
    values = make_inputs(graph, device, seed) if inputs is None else inputs
    devices = [device] if device.type == "cuda" else []
    with ExitStack() as stack:
        # A graph may hold `torch._C._set_grad_enabled`, or fail between entering autocast and
        # leaving it; what it leaves behind is undone.
        stack.callback(torch._C._set_grad_enabled, torch.is_grad_enabled())
        stack.enter_context(autocast_as_it_was())
        stack.enter_context(torch.random.fork_rng(devices=devices))
        stack.enter_context(torch.inference_mode())
        torch.manual_seed(seed)
        return interpret(graph, values, device)


@contextmanager
def autocast_as_it_was() -> Iterator[None]:
    """Undo what a graph does to autocast and leaves behind."""
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
    """How many autocasts are entered; torch tells it only when it changes."""
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def interpret(
    graph: Graph,
    inputs: Sequence[Any],
    device: torch.device,
    known: Mapping[str, Any] | None = None,
) -> Any:
    """Make the calls in whatever mode is in force; values in ``known`` are not computed."""
    if len(inputs) != len(graph.inputs):
        raise GraphError(f"{len(inputs)} inputs given; the graph takes {len(graph.inputs)}")
    known = known or {}
    values = {e.name: value for e, value in zip(graph.inputs, inputs, strict=True)}
    releases = last_uses(graph)
    with watched_kernels(), _modes_left() as entered:
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
def _modes_left() -> Iterator[list[Any]]:
    """Leave the modes that a graph has entered; one left later takes the guard's place with it."""
    entered: list[Any] = []
    try:
        yield entered
    finally:
        for mode in reversed(entered):
            mode.__exit__(None, None, None)


def call_node(node: Node, values: Mapping[str, Any], device: torch.device) -> Any:
    """What one call gives, its references looked up in ``values``."""
    try:
        args, kwargs = arguments(node, values.__getitem__, device)
        return guarded_call(node.target, args, kwargs)
    except RefusedCall as error:
        raise RefusedCall(error.reason, node=node.name, field="args") from error


def digest(outputs: Any) -> str:
    """A hash of all output values, bit for bit."""
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
    """Tensors without values, of the right shape and dtype, made in a FakeTensorMode."""
    made: list[Any] = []
    with mode:
        for entry in graph.inputs:
            if isinstance(entry.spec, ScalarSpec):
                made.append(make_input(graph, entry))
                continue
            sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
            dtype = torch_dtype(entry.spec.dtype)
            if strides is None:
                made.append(torch.empty(sizes, dtype=dtype, device=device))
            else:
                made.append(torch.empty_strided(sizes, strides, dtype=dtype, device=device))
    return made
