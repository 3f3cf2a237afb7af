"""Rewrite a graph under a layout: the result has the strides and the copies.

The graph is walked once with tensors without data, which have strides: a copy is inserted only if a
tensor does not have the requested order, and a view that has become impossible becomes a reshape.
Parameters are passed in their order, as a deployment lays them out once. Inputs and outputs keep
their strides, so the rewritten graph can replace the original.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from graph_net.configs.layouts.calls import CallTable, LayoutCall, layout_key
from graph_net.configs.layouts.copies import CopyCount, WatchMode, is_dense
from graph_net.configs.layouts.layout_config import Layout, default_layout
from graph_net.configs.layouts.orders import (
    Order,
    channels_last_order,
    contiguous_order,
    has_order,
    inverse,
    order_of,
    same_layout,
    strides_of,
)
from graph_net.configs.layouts.sites import LayoutError, Site, find_sites
from graph_net.graph.effects import changed_values
from graph_net.graph.execute import fake_inputs
from graph_net.graph.graph import Graph, Input, Node, Role
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import Ref, TorchConstant, Value, map_refs, refs

FORMATS = {4: "channels_last", 5: "channels_last_3d"}
"""By rank, the memory format with channels most minor."""


@dataclass(frozen=True)
class RewrittenGraph:
    """The graph under a layout; every node's spec has the strides of an actual run."""

    graph: Graph
    calls: tuple[LayoutCall, ...]

    @property
    def copies(self) -> CopyCount:
        """The copies of all calls."""
        return CopyCount(tuple(copy for call in self.calls for copy in call.copies))


class LayoutRewriter:
    """Rewrites one graph under many layouts, for one kind of device."""

    def __init__(self, graph: Graph, device: str = "cpu") -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.graph, self.device = graph, torch.device(device)
        self.sites = find_sites(graph)
        if not self.sites:
            raise LayoutError("the graph has no convolution, product, reshape or permutation")
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.changed = changed_values(graph)
        self.by_node: Mapping[int, int] = {site.node: n for n, site in enumerate(self.sites)}
        self.table = CallTable(graph, self.device)
        self.given: dict[Input, Any] = {}

    @cached_property
    def original(self) -> RewrittenGraph:
        """The unchanged graph, and the copies that it makes."""
        walk = _Walk(self, default_layout(self.sites))
        return RewrittenGraph(self.graph, walk.run(None).calls)

    @cached_property
    def output_strides(self) -> dict[str, tuple[int, ...]]:
        """Strides of the original's outputs."""
        walk = _Walk(self, default_layout(self.sites))
        walk.run(None)
        return {
            ref.name: tuple(value.stride())
            for ref in refs(self.graph.output)
            if isinstance(value := walk.values[ref.name], torch.Tensor)
        }

    def apply(self, layout: Layout) -> RewrittenGraph:
        """Return the graph under a layout; raise LayoutError if a call does not support it."""
        self._check(layout)
        if layout == default_layout(self.sites):
            return self.original
        return _Walk(self, layout).run(self.output_strides)

    def calls(self, layout: Layout) -> tuple[LayoutCall, ...]:
        """Return the calls of the graph under a layout, without building it.

        Equal calls of several layouts are one object. Raise LayoutError as ``apply`` does.
        """
        self._check(layout)
        walk = _Walk(self, layout)
        walk.walk({} if layout == default_layout(self.sites) else self.output_strides)
        return tuple(walk.calls)

    def fakes(self, inputs: tuple[Input, ...]) -> list[Any]:
        """Return the inputs as tensors without data, each made once if no call changes them."""
        if not self.table.is_repeatable:
            self.given.clear()
        if missing := tuple(entry for entry in inputs if entry not in self.given):
            fakes = fake_inputs(replace(self.graph, inputs=inputs), self.mode, self.device)
            self.given |= {e: v for e, v in zip(inputs, fakes, strict=True) if e in missing}
        return [self.given[entry] for entry in inputs]

    def _check(self, layout: Layout) -> None:
        if len(layout) != len(self.sites):
            raise LayoutError(f"a layout of {len(layout)} nodes for {len(self.sites)} sites")
        for site, setting in zip(self.sites, layout, strict=True):
            if why := site.refusal(setting):
                raise LayoutError(f"{self.graph.nodes[site.node].name}: {why}")


@dataclass
class _Walk:
    """One pass over a graph: the calls so far, their values without data, their copies."""

    of: LayoutRewriter
    layout: Layout
    values: dict[str, Any] = field(default_factory=dict)
    layouts: dict[str, Hashable] = field(default_factory=dict)
    """Strides of each value."""
    nodes: list[Node] = field(default_factory=list)
    calls: list[LayoutCall] = field(default_factory=list)
    renamed: dict[str, Ref] = field(default_factory=dict)

    def run(self, strides: Mapping[str, tuple[int, ...]] | None) -> RewrittenGraph:
        """Walk the graph; ``strides`` are required of the outputs, None allows any."""
        inputs, output = self.walk(strides or {})
        made = replace(self.of.graph, inputs=inputs, nodes=tuple(self.nodes), output=output)
        return RewrittenGraph(made, tuple(self.calls))

    def walk(self, strides: Mapping[str, tuple[int, ...]]) -> tuple[tuple[Input, ...], Value]:
        """Make all calls; return the inputs and the output."""
        graph = self.of.graph
        inputs = self._inputs()
        for entry, value in zip(inputs, self.of.fakes(inputs), strict=True):
            self.values[entry.name], self.layouts[entry.name] = value, layout_key(value)
        with torch.no_grad(), self.of.mode, WatchMode(self.of.table.watcher):
            for place, node in enumerate(graph.nodes):
                self._node(place, node)
            return inputs, map_refs(graph.output, lambda ref: self._output(ref, strides))

    def _inputs(self) -> tuple[Input, ...]:
        """Return the inputs; a parameter has the order that its first configured reader sets."""
        wanted: dict[str, Order] = {}
        for site, setting in zip(self.of.sites, self.layout, strict=True):
            for position, order in ((site.input, setting.input), (site.kernel, setting.kernel)):
                name = self._parameter(site, position)
                if name and order is not None:
                    wanted.setdefault(name, order)
        return tuple(
            _laid_out(entry, wanted[entry.name]) if entry.name in wanted else entry
            for entry in self.of.graph.inputs
        )

    def _parameter(self, site: Site, position: int) -> str:
        """Return the name of the parameter in a position; empty if it is not a parameter."""
        value = self.of.graph.nodes[site.node].args[position] if position >= 0 else None
        if not isinstance(value, Ref) or value.name in self.of.changed:
            return ""
        entry = self.of.graph.index[value.name]
        given = isinstance(entry, Input) and entry.role is not Role.INPUT
        return value.name if given else ""

    def _node(self, place: int, node: Node) -> None:
        if self.renamed:
            node = node.with_refs(lambda ref: self.renamed.get(ref.name, ref))
        number = self.of.by_node.get(place)
        if number is None:
            self._call(node)
            return
        site, setting = self.of.sites[number], self.layout[number]
        args = list(node.args)
        for position, order in ((site.input, setting.input), (site.kernel, setting.kernel)):
            if order is not None and position >= 0:
                args[position] = self._ordered(args[position], order, f"{node.name}_{position}")
        self._call(replace(node, args=tuple(args)))
        if setting.output is not None:
            ref = self._ordered(Ref(node.name), setting.output, f"{node.name}_out")
            if ref != Ref(node.name):
                self.renamed[node.name] = ref

    def _call(self, node: Node, explicit: bool = False) -> None:
        """Run a call without data, and append it with the spec of its result."""
        is_fixed = node.name in self.of.changed
        call = self.of.table.call(node, self.values, self.layouts, is_fixed, explicit)
        self.values[node.name], self.layouts[node.name] = call.value, call.layout
        self.nodes.append(replace(node, target=call.node.target, result=call.node.result))
        self.calls.append(call)

    def _ordered(self, value: Value, order: Order, name: str) -> Ref:
        """Return a reference to a value in an order, copied if it has another."""
        assert isinstance(value, Ref)
        tensor = self.values[value.name]
        if is_dense(order, tensor):
            return value
        rank = tensor.dim()
        if order == contiguous_order(rank):
            return self._clone(value, name, "contiguous_format")
        if rank in FORMATS and order == channels_last_order(rank):
            return self._clone(value, name, FORMATS[rank])
        major = tuple(reversed(order))
        first = self._add(f"{name}_major", "aten.permute.default", (value, major))
        copied = self._clone(first, f"{name}_copy", "contiguous_format")
        return self._add(name, "aten.permute.default", (copied, inverse(major)))

    def _clone(self, value: Ref, name: str, memory_format: str) -> Ref:
        kwargs = (("memory_format", TorchConstant(memory_format)),)
        return self._add(name, "aten.clone.default", (value,), kwargs)

    def _add(
        self,
        name: str,
        target: str,
        args: tuple[Value, ...],
        kwargs: tuple[tuple[str, Value], ...] = (),
    ) -> Ref:
        fresh = f"{name}_layout"
        while fresh in self.values or fresh in self.of.graph.index:
            fresh += "_"
        self._call(Node(fresh, target, args, kwargs), explicit=True)
        return Ref(fresh)

    def _output(self, ref: Ref, strides: Mapping[str, tuple[int, ...]]) -> Ref:
        """Return the output for a value, with the strides that it has in the original."""
        now = self.renamed.get(ref.name, ref)
        tensor = self.values[now.name]
        if ref.name not in strides or same_layout(tensor.shape, tensor.stride(), strides[ref.name]):
            return now
        order = dense_order(tensor.shape, strides[ref.name])
        if order is None:
            return now  # the original returns part of a larger tensor, which no copy can reproduce
        return self._ordered(now, order, f"{ref.name}_returned")


def dense_order(sizes: Any, strides: tuple[int, ...]) -> Order | None:
    """Return the order in which a tensor of these strides is dense; None if it is not dense."""
    order = order_of(sizes, strides)
    return order if has_order(order, sizes, strides) else None


def _laid_out(entry: Input, order: Order) -> Input:
    """Return an input in an order."""
    spec = entry.spec
    if not isinstance(spec, TensorSpec) or (spec.stride is not None and 0 in spec.stride):
        return entry
    sizes = spec.sizes({})
    stride = None if order == contiguous_order(len(sizes)) else strides_of(order, sizes)
    return replace(entry, spec=TensorSpec(spec.shape, spec.dtype, stride))


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of torch's code for tensors without data."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
