"""A graph run on tensors without values, and all that this tells."""

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
"""Calls that change what an existing tensor looks like."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The graph with every result known, its outputs without values, its operations.

    ``disagreements`` are sentences on results that are not as the graph says.
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
    values = {name: calls.shared(value) for name, value in values.items()}
    with torch.no_grad(), mode:
        for position, node in enumerate(graph.nodes):
            try:
                value = calls.call(node, values, device)
            except Exception as error:
                error.add_note(f"in node {node.name!r}, a call of {node.target}")
                raise
            if node.result is None:
                found = spec_of(value, symbols)
                if found is None and value is not None:
                    unknown.append(f"{node.name} ({node.target})")
                nodes.append(replace(node, result=found))
            else:
                nodes.append(node)
                if not agrees(graph, node.result, value):
                    wrong.append(f"{node.name} ({node.target}) gives {_told(value)}")
            values[node.name] = value
            for name in (node.name, *(ref.name for ref in node.refs)):
                if last.get(name, -1) <= position:
                    values.pop(name, None)
        outputs = to_python(graph.output, values.__getitem__, device)
    known = replace(graph, nodes=tuple(nodes), symbols=tuple(symbols.symbols.values()))
    return Walk(known, outputs, calls.flops, tuple(wrong), tuple(unknown))


class _Calls:
    """Calls on tensors without values, each made once.

    What such a call gives depends on its target, on its constants and on what its tensors look
    like, so tensors that look alike are one object and a call that comes again, as every call of a
    repeated layer does, is looked up. A call that changes values changes nothing that is seen
    here; where one changes what a tensor looks like, every call is made.
    """

    def __init__(self, graph: Graph) -> None:
        self.flops = 0
        self._light: set[str] = set()
        """Targets that cost no operations that are counted."""
        self._once = not any(base_name(node.target) in RESHAPING for node in graph.nodes)
        self._tensors: dict[tuple[Any, ...], torch.Tensor] = {}
        self._known: dict[str, tuple[Any, int]] = {}

    def call(self, node: Node, values: Mapping[str, Any], device: torch.device) -> Any:
        """What a call gives; its operations are counted."""
        key = self._key(node, values)
        if key in self._known:
            value, flops = self._known[key]
        else:
            made, flops = self._counted(node, values, device)
            value = self.shared(made)
            if key:
                self._known[key] = value, flops
        self.flops += flops
        return value

    def _counted(
        self, node: Node, values: Mapping[str, Any], device: torch.device
    ) -> tuple[Any, int]:
        """What a call gives, and its operations.

        Counting takes apart what could hide a product, which costs several calls; a target that
        cost nothing once is called as it is from then on.
        """
        if node.target in self._light:
            return call_node(node, values, device), 0
        with FlopCounterMode(display=False) as counter:
            value = call_node(node, values, device)
        flops = _number(counter.get_total_flops())
        if flops == 0:
            self._light.add(node.target)
        return value, flops

    def shared(self, value: Any) -> Any:
        """The value, its tensors replaced by the first ones that look the same."""
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            return type(value)(self.shared(item) for item in value)
        if not self._once or not _plain(value):
            return value
        looks = (value.shape, value.stride(), value.storage_offset(), value.dtype, value.device)
        return self._tensors.setdefault(looks, value)

    def _key(self, node: Node, values: Mapping[str, Any]) -> str:
        """What the result depends on; nothing where that cannot be told."""
        if not self._once:
            return ""
        given = [values[ref.name] for ref in node.refs]
        flat = [leaf for value in given for leaf in flat_outputs(value)]
        if not all(_plain(leaf) or isinstance(leaf, (int, float)) for leaf in flat):
            return ""
        # Shared tensors stay alive, so that an address tells them apart; 1, 1.0 and True differ.
        seen = [id(leaf) if isinstance(leaf, torch.Tensor) else repr(leaf) for leaf in flat]
        shape = [len(flat_outputs(value)) for value in given]
        words = map_refs((node.args, node.kwargs), lambda ref: Ref("_"))
        return repr((node.target, words, seen, shape))


def _number(flops: Any) -> int:
    """Operations as a number; none where a size decides that only a run tells."""
    try:
        return int(flops)
    except GuardOnDataDependentSymNode:
        return 0


def _plain(value: Any) -> bool:
    """Whether a value is a tensor without values whose sizes are numbers."""
    return (
        isinstance(value, FakeTensor)
        and value.constant is None
        and value.layout is torch.strided
        and all(type(size) is int for size in (*value.shape, *value.stride()))
    )


def agrees(graph: Graph, spec: Result, value: Any) -> bool:
    """Whether a value is what its specification says; a size that only a run tells agrees."""
    if isinstance(spec, TensorSpec):
        if not isinstance(value, torch.Tensor) or len(value.shape) != len(spec.shape):
            return False
        if dtype_name(value.dtype) != spec.dtype:
            return False
        sizes = spec.sizes(graph.bindings)
        return all(
            isinstance(size, torch.SymInt) or size == known
            for size, known in zip(value.shape, sizes, strict=True)
        )
    if isinstance(spec, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(spec):
            return False
        return all(agrees(graph, s, v) for s, v in zip(spec, value, strict=True))
    return True


def _told(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{dtype_name(value.dtype)}{list(value.shape)}, not what is stored"
    return f"a {type(value).__name__}, not what is stored"
