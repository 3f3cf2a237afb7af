"""Find sizes for a target: as large as fits into memory, or about as long as asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from graph_net.graph.effects import VIEWS
from graph_net.graph.errors import GraphError
from graph_net.graph.flops import count_flops
from graph_net.graph.graph import Graph, Node
from graph_net.graph.operators import base_name
from graph_net.graph.outputs import last_uses
from graph_net.graph.spec import Result, TensorSpec
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant.provenance import add_notes
from graph_net.rewrite.variant.sizes import size_of, with_sizes

LARGEST = 1 << 20
STEPS = 40
NEAR = 1.5
"""A measured time within this factor of the target is close enough."""
PICTURE_STEP = 32
"""Image sizes are multiples of this: models halve images several times."""


def peak_bytes(graph: Graph) -> int:
    """Return the bytes of all inputs and of the results alive at the same time, without views."""
    live = peak = graph.tensor_bytes
    sizes: dict[str, int] = {}
    for node, release in zip(graph.nodes, last_uses(graph), strict=True):
        sizes[node.name] = _bytes(node, graph)
        live += sizes[node.name]
        peak = max(peak, live)
        live -= sum(sizes.get(name, 0) for name in release)
    return peak


def _bytes(node: Node, graph: Graph) -> int:
    def total(result: Result) -> int:
        if isinstance(result, tuple):
            return sum(total(item) for item in result)
        return result.bytes(graph.bindings) if isinstance(result, TensorSpec) else 0

    return 0 if base_name(node.target) in VIEWS else total(node.result)


def largest_that_fits(graph: Graph, limit: int, vary: str = "batch") -> Graph:
    """Return the graph at the largest size whose tensors take at most ``limit`` bytes together."""
    graph = to_aten(graph)  # once, not for every size
    size = _largest(graph, vary, peak_bytes, limit, "bytes")
    return add_notes(with_sizes(graph, {vary: size}), fits_bytes=limit)


def size_for_seconds(
    graph: Graph, seconds: float, time: Callable[[Graph], float], vary: str = "batch"
) -> Graph:
    """Return the graph at the size that takes about ``seconds``, as ``time`` measures it.

    The size is computed from one measurement by counting operations, and checked by another; if the
    check is far off the next count starts from it.
    """
    graph = to_aten(graph)  # once, not for every size
    measured, variant = time(graph), graph
    for _ in range(2):
        target = int(_flops(variant) * seconds / measured)
        size = _largest(graph, vary, _flops, target, "operations")
        variant = with_sizes(graph, {vary: size})
        measured = time(variant)
        if seconds / NEAR <= measured <= seconds * NEAR:
            break
    return add_notes(variant, about_seconds=seconds, measured_seconds=measured)


def _flops(graph: Graph) -> int:
    flops = count_flops(graph)
    if not flops.total:
        raise GraphError(f"its operations cannot be counted: {flops.reason or 'it has none'}")
    return flops.total


def _largest(graph: Graph, vary: str, cost: Callable[[Graph], int], limit: int, unit: str) -> int:
    """Return the largest size whose cost is within a limit; cost grows with size."""
    now = size_of(graph, vary)
    step = PICTURE_STEP if vary == "image" and now % PICTURE_STEP == 0 else 1
    refused: list[GraphError] = []

    @cache
    def cost_at(size: int) -> int | None:
        """Return the cost of a size; None if the graph cannot have it."""
        try:
            return cost(with_sizes(graph, {vary: size * step}, confirm=False))
        except GraphError as error:
            refused.append(error)
            return None

    low, high = _bracket(max(now // step, 1), cost_at, limit)
    if low == 0:
        least = cost_at(1)
        why = refused[-1].reason if least is None else f"takes {least} {unit}, not {limit}"
        raise GraphError(f"at {vary}={step} it {why}" if least else f"cannot vary {vary}: {why}")
    for _ in range(STEPS):
        if high - low <= 1:
            break
        below, above = cost_at(low), cost_at(high)
        middle = (low + high) // 2
        if below is not None and above is not None:
            # Cost is close to a line between two sizes.
            middle = low + (limit - below) * (high - low) // max(above - below, 1)
        middle = min(max(middle, low + 1), high - 1)
        middle_cost = cost_at(middle)
        if middle_cost is not None and middle_cost <= limit:
            low = middle
            following = cost_at(low + 1)
            if following is None or following > limit:
                break
            low += 1
        else:
            high = middle
    return low * step


def _bracket(start: int, cost_at: Callable[[int], int | None], limit: int) -> tuple[int, int]:
    """Return a size within the limit (0 if none is) and a larger one above it."""

    def within(size: int) -> bool:
        cost = cost_at(size)
        return cost is not None and cost <= limit

    if not within(start):
        high = start
        while high > 1:
            if within(high // 2):
                return high // 2, high
            high //= 2
        return 0, high
    low = start
    while low < LARGEST and within(2 * low):
        low *= 2
    return low, 2 * low
