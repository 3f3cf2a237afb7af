"""A run of a graph on fake tensors: its specifications, their agreement, its operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils.flop_counter import FlopCounterMode

from graph_net.graph import Graph, Node, Ref, TensorSpec
from graph_net.graph.execute import call_node, fake_inputs, flat_outputs
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.runtime import SymbolTable, dtype_name, spec_of, to_python
from graph_net.graph.spec import Result
from graph_net.graph.values import map_refs
from graph_net.rewrite.split import last_reads

RESHAPING = names(Trait.CHANGES_METADATA)
"""Calls that change the metadata of an existing tensor."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The graph with every result specified, its fake outputs, its operations.

    ``disagreements`` are sentences on results that are not as the graph states.
    """

    graph: Graph
    outputs: Any
    flops: int
    disagreements: tuple[str, ...]
    unknown: tuple[str, ...]


def walk(graph: Graph) -> Walk:
    """Run a graph under fake tensors, comparing each result with the stored specification."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    device = torch.device("cpu")
    values = dict(zip((e.name for e in graph.inputs), fake_inputs(graph, mode), strict=True))
    last = last_reads(graph)
    symbols = SymbolTable()
    symbols.symbols.update({symbol.name: symbol for symbol in graph.symbols})
    nodes, wrong, unknown = [], [], []
    calls = _Calls(graph)
    values = {name: calls.share(value) for name, value in values.items()}
    with torch.no_grad(), mode:
        for position, node in enumerate(graph.nodes):
            try:
                value = calls.call(node, values, device)
            except Exception as error:
                error.add_note(f"in node {node.name!r}, a call of {node.target}")
                raise
            if node.result is None:
                spec = spec_of(value, symbols)
                if spec is None and value is not None:
                    unknown.append(f"{node.name} ({node.target})")
                nodes.append(replace(node, result=spec))
            else:
                nodes.append(node)
                if not agrees(graph, node.result, value):
                    wrong.append(f"{node.name} ({node.target}) gives {_describe(value)}")
            values[node.name] = value
            for name in (node.name, *(ref.name for ref in node.refs)):
                if last.get(name, -1) <= position:
                    values.pop(name, None)
        outputs = to_python(graph.output, values.__getitem__, device)
    specified = replace(graph, nodes=tuple(nodes), symbols=tuple(symbols.symbols.values()))
    return Walk(specified, outputs, calls.flops, tuple(wrong), tuple(unknown))


class _Calls:
    """Calls on fake tensors, cached.

    The result of such a call depends on its target, its constants and its tensors' metadata, so
    tensors of equal metadata are one object, and a repeated call, as in a repeated layer, is looked
    up. A call that changes values changes nothing here; in a graph where one changes metadata,
    nothing is cached.
    """

    def __init__(self, graph: Graph) -> None:
        self.flops = 0
        self._light: set[str] = set()
        """Targets without counted operations."""
        self._once = not any(base_name(node.target) in RESHAPING for node in graph.nodes)
        self._tensors: dict[tuple[Any, ...], torch.Tensor] = {}
        self._cache: dict[str, tuple[Any, int]] = {}

    def call(self, node: Node, values: Mapping[str, Any], device: torch.device) -> Any:
        """Return the result of a call, and count its operations."""
        key = self._key(node, values)
        if key in self._cache:
            value, flops = self._cache[key]
        else:
            result, flops = self._call_counted(node, values, device)
            value = self.share(result)
            if key:
                self._cache[key] = value, flops
        self.flops += flops
        return value

    def _call_counted(
        self, node: Node, values: Mapping[str, Any], device: torch.device
    ) -> tuple[Any, int]:
        """Return the result of a call, and its operations.

        Counting decomposes the call, which is slow; a target without operations is called directly
        from then on.
        """
        if node.target in self._light:
            return call_node(node, values, device), 0
        with FlopCounterMode(display=False) as counter:
            value = call_node(node, values, device)
        flops = _flops_or_zero(counter.get_total_flops())
        if flops == 0:
            self._light.add(node.target)
        return value, flops

    def share(self, value: Any) -> Any:
        """Return the value, its tensors replaced by the first ones of equal metadata."""
        if type(value) in (tuple, list):
            return type(value)(self.share(item) for item in value)
        if not self._once or not _is_plain(value):
            return value
        metadata = (value.shape, value.stride(), value.storage_offset(), value.dtype, value.device)
        return self._tensors.setdefault(metadata, value)

    def _key(self, node: Node, values: Mapping[str, Any]) -> str:
        """Return all that the result depends on; empty if unknown."""
        if not self._once:
            return ""
        nests = [flat_outputs(values[ref.name]) for ref in node.refs]
        flat = [leaf for leaves in nests for leaf in leaves]
        if not all(_is_plain(leaf) or isinstance(leaf, (int, float)) for leaf in flat):
            return ""
        # Shared tensors stay alive, so their addresses are unique; 1, 1.0 and True differ.
        leaves = [id(leaf) if isinstance(leaf, torch.Tensor) else repr(leaf) for leaf in flat]
        arguments = map_refs((node.args, node.kwargs), lambda ref: Ref("_"))
        return repr((node.target, arguments, leaves, [len(nest) for nest in nests]))


def _flops_or_zero(flops: Any) -> int:
    """Return operations as a number; 0 if they depend on a size known only in a run."""
    try:
        return int(flops)
    except GuardOnDataDependentSymNode:
        return 0


def _is_plain(value: Any) -> bool:
    """Return whether a value is a fake tensor whose sizes are numbers."""
    return (
        isinstance(value, FakeTensor)
        and value.constant is None
        and value.layout is torch.strided
        and all(type(size) is int for size in (*value.shape, *value.stride()))
    )


def agrees(graph: Graph, spec: Result, value: Any) -> bool:
    """Return whether a value matches its specification; a size known only in a run matches any."""
    if isinstance(spec, TensorSpec):
        if not isinstance(value, torch.Tensor) or len(value.shape) != len(spec.shape):
            return False
        if dtype_name(value.dtype) != spec.dtype:
            return False
        sizes = spec.sizes(graph.bindings)
        return all(
            isinstance(size, torch.SymInt) or size == stored
            for size, stored in zip(value.shape, sizes, strict=True)
        )
    if isinstance(spec, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(spec):
            return False
        return all(agrees(graph, s, v) for s, v in zip(spec, value, strict=True))
    return True


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{dtype_name(value.dtype)}{list(value.shape)}, not what is stored"
    return f"a {type(value).__name__}, not what is stored"
