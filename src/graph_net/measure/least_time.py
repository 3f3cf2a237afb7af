"""A lower bound of the time that any machine of a kind needs for a graph.

A call that took less did not compute the graph. A false alarm is worse than a miss, so every figure
is generous: the widest units that processors of the kind have, at a clock that none reaches,
algorithms that save more than those in use, nothing that could be folded, and a margin.
``graph-net roofline`` has tighter floors, from measured peaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graph_net.graph import Graph, Level, Node
from graph_net.graph.graph import Role
from graph_net.graph.work import live_nodes, work_of
from graph_net.results import Device

HERTZ = 6e9
MATRIX_UNITS, VECTOR_UNITS = 4096.0, 64.0
"""Operations per cycle of a core with matrix units (AMX has 2,048), and with vectors alone."""
BYTES_PER_CYCLE = 192.0
"""Bytes per cycle that a core loads and stores in its nearest cache."""
GPU_RATE, GPU_BYTES = 1e16, 2e13
"""Operations and bytes per second: several times those of the largest GPU."""
CONVOLUTION = 16.0
"""The factor that a convolution may save by another algorithm; Winograd's largest in use is 4."""
MARGIN = 2.0


def least_seconds(graph: Graph, device: Device) -> float:
    """Return a lower bound of the seconds of a run; 0 if unknown."""
    if graph.level is Level.PADDLE:
        return 0.0
    work = work_of(graph)
    operations = 0.0
    if work.flops is not None:
        operations = work.flops - work.convolutions * (1 - 1 / CONVOLUTION) - _count_foldable(graph)
    rate, moved = _rates(device)
    return max(operations / rate, work.bytes / moved) / MARGIN


def _rates(device: Device) -> tuple[float, float]:
    """Return operations and bytes per second."""
    if device.kind != "cpu":
        return GPU_RATE, GPU_BYTES
    cycles = device.cores * HERTZ
    return cycles * (
        MATRIX_UNITS if _has_matrix_units() else VECTOR_UNITS
    ), cycles * BYTES_PER_CYCLE


def _has_matrix_units() -> bool:
    """Return whether the processor has matrix units; True if it does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return True
    words = next((line.split() for line in text.splitlines() if line.startswith("flags")), None)
    return words is None or any(word.startswith("amx") for word in words)


def _count_foldable(graph: Graph) -> int:
    """Count the operations that depend on no data, only on weights or constants."""
    from graph_net.graph.flops import count_run

    nodes = tuple(_foldable_nodes(graph))
    if not nodes:
        return 0
    try:
        return sum(count_run(replace(graph, nodes=nodes, output=())).operations.values())
    except Exception:  # the whole graph could be run without values, this part cannot
        return 0


def _foldable_nodes(graph: Graph) -> Iterator[Node]:
    moving = {entry.name for entry in graph.inputs if entry.role is Role.INPUT}
    for node in live_nodes(graph):
        if any(ref.name in moving for ref in node.refs):
            moving.add(node.name)
        else:
            yield node
