"""Correctness: a candidate's outputs against eager's and against a float64 run's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from graph_net.graph import Dtype, Graph, Input, Node, TensorSpec
from graph_net.graph.effects import changed_values, draws_random
from graph_net.graph.outputs import flat_outputs
from graph_net.graph.values import DictValue, ListValue, Value
from graph_net.measure.framework import Framework, framework_of
from graph_net.measure.tolerance import LOWEST, smallest_level
from graph_net.printable import count_phrase
from graph_net.results import FAMILIES, Failure, Output, Stage, Symptom
from graph_net.results.signature import message_of

_FAMILIES = tuple(getattr(torch, name) for name in FAMILIES)
_NARROW = frozenset({"float16", "bfloat16", "float32"})


@dataclass(frozen=True)
class Reference:
    """Eager's outputs, how far two eager runs differ, and the outputs of exact arithmetic."""

    outputs: tuple[Any, ...]
    spread: tuple[float | None, ...]
    random: bool
    exact: tuple[Any, ...] | None = None
    inexact: str = ""
    """Why there is no float64 run, if one was asked for."""


def make_reference(
    graph: Graph, device: str, seed: int, framework: Framework | None = None
) -> Reference:
    """Return the reference of two eager runs on fresh inputs."""
    host = framework or framework_of(graph, device)
    first, second = (observe_run(graph, device, seed, host) for _ in range(2))
    spread = tuple(_level_of(a, b) for a, b in zip(second, first, strict=True))
    random = any(draws_random(node) for node in graph.nodes)
    return Reference(tuple(first), spread, random)


def with_exact(
    reference: Reference, graph: Graph, device: str, seed: int, framework: Framework | None = None
) -> Reference:
    """Return the reference with a float64 run added, if the graph has one."""
    if reference.random:
        return replace(reference, inexact="the graph draws random numbers")
    try:
        exact = _run_float64(graph, device, seed, framework or framework_of(graph, device))
    except Exception as error:  # mixed dtypes, an operator without a kernel, too little memory
        return replace(reference, inexact=message_of(error).strip().partition("\n")[0][:200])
    return replace(reference, exact=exact)


def worse_of(first: tuple[Output, ...], second: tuple[Output, ...]) -> tuple[Output, ...]:
    """Return the larger figures of each output; None counts as the largest level."""

    def larger(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else max(a, b)

    return tuple(
        replace(
            b,
            t=larger(a.t, b.t),
            max_abs=larger(a.max_abs, b.max_abs),
            mean_abs=larger(a.mean_abs, b.mean_abs),
            t_exact=larger(a.t_exact, b.t_exact),
            t_of=tuple(larger(x, y) for x, y in zip(a.t_of, b.t_of, strict=True)),
        )
        for a, b in zip(first, second, strict=True)
    )


def observe_run(graph: Graph, device: str, seed: int, framework: Framework) -> list[Any]:
    """Return the outputs of an eager run, then the inputs that it changes."""
    inputs = framework.make_inputs(graph, device, seed)
    return effects_of(graph, framework.run(graph, inputs, device, seed), inputs, framework)


def effects_of(
    graph: Graph, outputs: Any, inputs: Sequence[Any], framework: Framework
) -> list[Any]:
    """Return all effects of a call: its outputs, then the inputs that it changes."""
    changed = changed_values(graph)
    after = [
        value
        for entry, value in zip(graph.inputs, inputs, strict=True)
        if entry.name in changed and isinstance(entry.spec, TensorSpec)
    ]
    return [framework.to_torch(leaf) for leaf in (*flat_outputs(outputs), *after)]


def check_outputs(
    leaves: Sequence[Any], expected: Reference
) -> tuple[tuple[Output, ...], Failure | None]:
    """Return the comparison of each output and changed input, and the first failure."""
    wrong = _form_failure(leaves, expected.outputs)
    if wrong is not None:
        return (), wrong
    outputs = tuple(
        _compare(leaf, expected, position)
        for position, leaf in enumerate(leaves)
        if leaf is not None
    )
    for position, (leaf, want) in enumerate(zip(leaves, expected.outputs, strict=True)):
        failure = _value_failure(position, leaf, want, expected)
        if failure is not None:
            return outputs, failure
    return outputs, None


def _form_failure(leaves: Sequence[Any], expected: Sequence[Any]) -> Failure | None:
    """Return the first failure of structure, shape or dtype, before values."""
    if len(leaves) != len(expected):
        message = f"{count_phrase(len(leaves), 'output')} instead of {len(expected)}"
        return Failure(Stage.VERIFY, Symptom.STRUCTURE, message)
    for position, (leaf, want) in enumerate(zip(leaves, expected, strict=True)):
        if isinstance(leaf, torch.Tensor) != isinstance(want, torch.Tensor):
            message = f"output {position} is a {type(leaf).__name__}, not {type(want).__name__}"
            return Failure(Stage.VERIFY, Symptom.STRUCTURE, message)
        if not isinstance(leaf, torch.Tensor):
            continue
        if leaf.shape != want.shape:
            message = f"output {position} is {tuple(leaf.shape)}, not {tuple(want.shape)}"
            return Failure(Stage.VERIFY, Symptom.SHAPE, message)
        if leaf.dtype != want.dtype:
            message = f"output {position} is {leaf.dtype}, not {want.dtype}"
            return Failure(Stage.VERIFY, Symptom.DTYPE, message)
    return None


def _value_failure(position: int, leaf: Any, want: Any, expected: Reference) -> Failure | None:
    level, own = _level_of(leaf, want), expected.spread[position]
    if level == LOWEST:
        return None
    beyond = own != LOWEST and (own is None or level is None or level > own)
    if expected.random or beyond:
        why = "the graph draws random numbers" if expected.random else "eager differs from itself"
        return Failure(
            Stage.VERIFY, Symptom.NONDETERMINISTIC, f"output {position} differs, but {why}"
        )
    if level is not None:
        return None
    if not isinstance(leaf, torch.Tensor):
        return Failure(Stage.VERIFY, Symptom.NUMERIC, f"output {position} is {leaf}, not {want}")
    if leaf.is_floating_point() or leaf.is_complex():
        lost = int((~leaf.isfinite() & want.isfinite()).sum())
        if lost:
            message = f"output {position} has {lost} elements that are not finite and should be"
            return Failure(Stage.VERIFY, Symptom.NON_FINITE, message)
    return Failure(Stage.VERIFY, Symptom.NUMERIC, f"output {position} differs at every tolerance")


def _level_of(leaf: Any, want: Any) -> float | None:
    if isinstance(want, torch.Tensor):
        return smallest_level(leaf, want) if isinstance(leaf, torch.Tensor) else None
    same = leaf == want or (isinstance(want, float) and leaf != leaf and want != want)
    return LOWEST if same else None


def _compare(leaf: Any, expected: Reference, position: int) -> Output:
    want = expected.outputs[position]
    if not isinstance(leaf, torch.Tensor):
        level = _level_of(leaf, want)
        return Output(type(leaf).__name__, (), level, t_of=(level,) * len(FAMILIES))
    exact = None if expected.exact is None else expected.exact[position]
    wide = torch.complex128 if leaf.is_complex() else torch.float64
    difference = (leaf.to(wide) - want.to(wide)).abs()
    far = float(difference.max()) if leaf.numel() else 0.0
    mean = float(difference.mean()) if leaf.numel() else 0.0
    return Output(
        dtype=str(leaf.dtype).removeprefix("torch."),
        shape=tuple(leaf.shape),
        t=smallest_level(leaf, want),
        max_abs=far if math.isfinite(far) else None,
        mean_abs=mean if math.isfinite(mean) else None,
        t_self=expected.spread[position],
        t_of=tuple(smallest_level(leaf, want, family) for family in _FAMILIES),
        t_exact=None if exact is None else smallest_level(leaf, exact, leaf.dtype),
        eager_t_exact=None if exact is None else smallest_level(want, exact, leaf.dtype),
    )


def _run_float64(graph: Graph, device: str, seed: int, framework: Framework) -> tuple[Any, ...]:
    """Return the outputs of a float64 run."""
    wide = widen_to_float64(graph)
    inputs = [framework.widen(value) for value in framework.make_inputs(graph, device, seed)]
    return tuple(effects_of(graph, framework.run(wide, inputs, device, seed), inputs, framework))


def widen_to_float64(graph: Graph) -> Graph:
    """Return the graph with every narrow floating-point dtype replaced by float64."""

    def widen_input(entry: Input) -> Input:
        if isinstance(entry.spec, TensorSpec) and entry.spec.dtype in _NARROW:
            return replace(entry, spec=replace(entry.spec, dtype="float64"))
        return entry

    def widen_node(node: Node) -> Node:
        kwargs = tuple((key, _widen_value(value)) for key, value in node.kwargs)
        return Node(node.name, node.target, tuple(map(_widen_value, node.args)), kwargs)

    return replace(
        graph,
        inputs=tuple(map(widen_input, graph.inputs)),
        nodes=tuple(map(widen_node, graph.nodes)),
    )


def _widen_value(value: Value) -> Value:
    if isinstance(value, Dtype):
        return Dtype("float64") if value.name in _NARROW else value
    if isinstance(value, tuple):
        return tuple(_widen_value(item) for item in value)
    if isinstance(value, ListValue):
        return ListValue(tuple(_widen_value(item) for item in value.items))
    if isinstance(value, DictValue):
        return DictValue(tuple((key, _widen_value(item)) for key, item in value.items))
    return value
