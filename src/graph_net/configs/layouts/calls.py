"""Calls of a graph on tensors without data, made once for each layout of their arguments.

Layouts of one graph differ in a few calls: a call whose arguments have the same strides as in an
earlier walk has the same result and the same copies, and is looked up.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from graph_net.configs.layouts.copies import CopyWatcher, LayoutCopy
from graph_net.configs.layouts.sites import LayoutError
from graph_net.graph.execute import call_node
from graph_net.graph.graph import Graph, Node
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.outputs import flat_outputs
from graph_net.graph.runtime import SymbolTable, spec_of
from graph_net.graph.spec import TensorSpec

VIEWS = dict.fromkeys(("aten.view.default", "aten._unsafe_view.default"), "aten.reshape.default")
"""Replacement of a view that strides do not allow."""


@dataclass(frozen=True, eq=False)
class LayoutCall:
    """A call under given layouts of its arguments: its result, and the copies it makes.

    Equal calls of several layouts are one object.
    """

    node: Node
    arguments: tuple[TensorSpec | None, ...]
    """Specs of the values it reads, left to right; None for what is not a tensor."""
    copies: tuple[LayoutCopy, ...]
    value: Any
    layout: Hashable
    """Strides of its result."""
    is_view: bool
    """Whether it computes nothing: the result is memory of an argument."""


@dataclass
class CallTable:
    """The calls of one graph that were made so far."""

    graph: Graph
    device: torch.device
    watcher: CopyWatcher = field(default_factory=CopyWatcher)
    calls: dict[Hashable, LayoutCall] = field(default_factory=dict)
    symbols: SymbolTable = field(default_factory=SymbolTable)

    def __post_init__(self) -> None:
        changing = names(Trait.CHANGES_METADATA)
        # Such a call changes tensors that were looked up.
        self.is_repeatable = not any(base_name(n.target) in changing for n in self.graph.nodes)

    def call(
        self,
        node: Node,
        values: Mapping[str, Any],
        layouts: Mapping[str, Hashable],
        is_fixed: bool,
        explicit: bool = False,
    ) -> LayoutCall:
        """Return a call, made now or earlier; a view that strides do not allow is a reshape.

        ``is_fixed`` forbids that. Raise LayoutError if the call does not support the layouts.
        """
        own = (node.args, node.kwargs) if explicit else ()
        key = (node.name, own, *(layouts[ref.name] for ref in node.refs))
        call = self.calls.get(key)
        if call is None:
            call = self._make(node, values, is_fixed, explicit)
            if self.is_repeatable:
                self.calls[key] = call
        return call

    def _make(
        self, node: Node, values: Mapping[str, Any], is_fixed: bool, explicit: bool
    ) -> LayoutCall:
        watcher = self.watcher
        watcher.node, watcher.explicit, watcher.copies = node.name, explicit, []
        try:
            value = call_node(node, values, self.device)
        except Exception as error:
            if node.target not in VIEWS or is_fixed:
                raise LayoutError(f"{node.name} ({node.target}) cannot take it: {error}") from error
            reshape = Node(node.name, VIEWS[node.target], node.args, node.kwargs, node.result)
            return self._make(reshape, values, is_fixed, explicit)
        called = Node(node.name, node.target, node.args, node.kwargs, spec_of(value, self.symbols))
        specs = (spec_of(values[ref.name], self.symbols) for ref in node.refs)
        arguments = tuple(spec if isinstance(spec, TensorSpec) else None for spec in specs)
        copies = tuple(watcher.copies)
        is_view = not copies and _is_view(node, value, values)
        return LayoutCall(called, arguments, copies, value, layout_key(value), is_view)


def _is_view(node: Node, value: Any, values: Mapping[str, Any]) -> bool:
    """Return whether a result is memory of an argument that the call does not write to."""
    if base_name(node.target).endswith("_"):
        return False
    read = {_storage(leaf) for ref in node.refs for leaf in flat_outputs(values[ref.name])}
    results = {_storage(leaf) for leaf in flat_outputs(value)}
    return results <= read | {None}


def _storage(value: Any) -> int | None:
    """Return what identifies the memory of a tensor; None for another value."""
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None


def layout_key(value: Any) -> Hashable:
    """Return the strides of a value, nested as it is; None for what is not a tensor."""
    if isinstance(value, torch.Tensor):
        return tuple(value.stride())
    if isinstance(value, (list, tuple)):
        return tuple(layout_key(item) for item in value)
    return None
