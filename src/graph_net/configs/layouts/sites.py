"""Sites: the nodes of a graph whose layouts can be chosen, and the choices of each.

A layout gives the dimension order of a node's output, input and kernel, as in TpuGraphs. An order
that is not set leaves the tensor as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import product

from graph_net.configs.layouts.orders import (
    MOST_DIMENSIONS,
    Order,
    channels_last_order,
    contiguous_order,
    transposed_order,
)
from graph_net.graph.effects import changed_values, draws_random
from graph_net.graph.graph import Graph, Level, Node
from graph_net.graph.operators import base_name
from graph_net.graph.spec import TensorSpec
from graph_net.graph.values import Ref, Value


class SiteKind(StrEnum):
    """The kind of a configurable node."""

    CONVOLUTION = "convolution"
    MATMUL = "matmul"
    RESHAPE = "reshape"
    PERMUTE = "permute"


_BASES = {
    SiteKind.CONVOLUTION: """conv1d conv2d conv3d conv_transpose1d conv_transpose2d
        conv_transpose3d convolution""",
    SiteKind.MATMUL: "linear matmul mm bmm addmm baddbmm",
    SiteKind.RESHAPE: "view reshape flatten unflatten reshape_as",
    SiteKind.PERMUTE: "permute transpose t movedim swapaxes numpy_T",
}
_KIND_OF = {base: kind for kind, bases in _BASES.items() for base in bases.split()}
_ADDED_FIRST = ("addmm", "baddbmm")
"""Products whose first argument is added; the matrices follow."""
_BY_STORAGE = ("as_strided", "set_", "view_as_complex", "view_as_real")
"""Calls that read memory by its position: a graph with one has no layouts to choose."""


class LayoutError(ValueError):
    """A graph without layouts to choose, or a configuration that does not fit its graph."""


@dataclass(frozen=True)
class Setting:
    """The orders of a node's tensors; None leaves one as it is."""

    output: Order | None = None
    input: Order | None = None
    kernel: Order | None = None

    @property
    def orders(self) -> tuple[Order | None, Order | None, Order | None]:
        """Output, input, kernel, in TpuGraphs' order."""
        return self.output, self.input, self.kernel


DEFAULT = Setting()


@dataclass(frozen=True)
class Site:
    """A configurable node: its position, and the ranks of its tensors (0 if absent)."""

    node: int
    kind: SiteKind
    output_rank: int
    input_rank: int
    kernel_rank: int
    input: int = 0
    """Index of the argument that is its input; -1 if there is none to choose."""
    kernel: int = -1

    @cached_property
    def choices(self) -> tuple[Setting, ...]:
        """The settings that a search draws from; the first leaves the node unchanged."""
        outputs = self._orders(self.output_rank)
        inputs = self._orders(self.input_rank)
        kernels = self._orders(self.kernel_rank)
        return tuple(Setting(*orders) for orders in product(outputs, inputs, kernels))

    def _orders(self, rank: int) -> tuple[Order | None, ...]:
        if rank < 2:
            return (None,)
        other = channels_last_order if self._has_channels(rank) else transposed_order
        return (None, contiguous_order(rank), other(rank))

    def _has_channels(self, rank: int) -> bool:
        images = self.kind is not SiteKind.MATMUL and rank in (4, 5)
        return self.kind is SiteKind.CONVOLUTION or images

    def refusal(self, setting: Setting) -> str:
        """Return why a setting does not fit this node; empty if it does."""
        ranks = (self.output_rank, self.input_rank, self.kernel_rank)
        for word, order, rank in zip(
            ("output", "input", "kernel"), setting.orders, ranks, strict=True
        ):
            if order is not None and sorted(order) != list(range(rank)):
                return f"{order} is not an order of the {rank} dimensions of its {word}"
        return ""


def find_sites(graph: Graph) -> tuple[Site, ...]:
    """Return the configurable nodes in order; raise LayoutError if layouts cannot be chosen.

    A reshape or permutation of memory that some call overwrites is not one: a copy would break the
    aliasing.
    """
    _check_graph(graph)
    changed = changed_values(graph)
    sites = []
    for place, node in enumerate(graph.nodes):
        kind = _KIND_OF.get(base_name(node.target))
        if kind is None or not isinstance(node.result, TensorSpec):
            continue
        if kind in (SiteKind.RESHAPE, SiteKind.PERMUTE) and node.name in changed:
            continue
        if (site := _site(graph, place, node, kind)) is not None:
            sites.append(site)
    return tuple(sites)


def _check_graph(graph: Graph) -> None:
    if graph.level is not Level.ATEN:
        raise LayoutError(f"layouts are chosen at level aten, not {graph.level.value}")
    if graph.symbols:
        raise LayoutError("sizes that vary have no strides: bind them with `graph-net variant`")
    for node in graph.nodes:
        if base_name(node.target) in _BY_STORAGE:
            raise LayoutError(f"{node.name} ({node.target}) reads memory by its place")
        if draws_random(node):
            raise LayoutError(f"{node.name} ({node.target}) draws random numbers")


def _site(graph: Graph, place: int, node: Node, kind: SiteKind) -> Site | None:
    assert isinstance(node.result, TensorSpec)
    first = 1 if base_name(node.target) in _ADDED_FIRST else 0
    has_kernel = kind in (SiteKind.CONVOLUTION, SiteKind.MATMUL)
    output, of_input = len(node.result.shape), _rank(graph, node, first)
    of_kernel = _rank(graph, node, first + 1) if has_kernel else 0
    if max(output, of_input, of_kernel) > MOST_DIMENSIONS or max(output, of_input) < 2:
        return None
    return Site(
        place, kind, output if output > 1 else 0, of_input if of_input > 1 else 0,
        of_kernel if of_kernel > 1 else 0, first, first + 1 if of_kernel > 1 else -1,
    )  # fmt: skip


def _rank(graph: Graph, node: Node, position: int) -> int:
    """Return the rank of the tensor in a position; 0 if there is none."""
    spec = spec_at(graph, node.args[position]) if position < len(node.args) else None
    return len(spec.shape) if spec is not None else 0


def spec_at(graph: Graph, value: Value) -> TensorSpec | None:
    """Return the spec of a value if it is a named tensor."""
    if not isinstance(value, Ref):
        return None
    entry = graph.index[value.name]
    spec = entry.result if isinstance(entry, Node) else entry.spec
    return spec if isinstance(spec, TensorSpec) else None


def site_names(graph: Graph, sites: tuple[Site, ...]) -> Iterator[str]:
    """Yield the names of the configurable nodes."""
    for site in sites:
        yield graph.nodes[site.node].name
