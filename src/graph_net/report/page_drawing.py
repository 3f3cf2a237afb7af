"""The data of a graph's drawing: operators, edges, and repeated blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from graph_net.graph import Graph, Role, ScalarSpec, TensorSpec
from graph_net.graph.repeats import Copy, find_repeats
from graph_net.graph.spec import Result
from graph_net.graph.values import refs

_HEAVY = re.compile(
    r"conv|linear|matmul|\bmm\b|bmm|addmm|einsum|attention|embedding|lstm|gru", re.I
)
_LIGHT = re.compile(
    r"view|reshape|permute|transpose|squeeze|expand|flatten|getitem|contiguous|size|slice|chunk"
    r"|split|unbind|clone|dropout|detach|\bto\b|getattr",
    re.I,
)
_HOME = re.compile(
    r"^(torch\.nn\.functional|torch\.ops\.aten|torch|aten|_operator|operator|builtins)\."
)
SMALL = 40
"""Graphs with fewer nodes are drawn whole."""
SHORTEST_AGAIN = 8
SHORTEST_LOOP = 6


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """``times`` runs of ``period`` nodes from ``start``; 1 for a copy of an earlier run."""

    start: int
    period: int
    times: int

    @property
    def end(self) -> int:
        """The index of the node after it."""
        return self.start + self.period * self.times


def blocks_of(operators: list[str]) -> list[DrawnRun]:
    """Return the repeated blocks of a list of operators, outer ones before inner ones.

    Only operators are compared: a layer that reads the same mask as the one before is the same
    layer, though the mask is further away. Two blocks are disjoint, or one lies inside the other's
    first run.
    """
    if len(operators) < SMALL:
        return []
    blocks: list[DrawnRun] = []
    position = 0
    for item in find_repeats(operators):
        if not isinstance(item, Copy):
            position += 1
            continue
        block = DrawnRun(position, item.length, 1)
        if item.length >= item.distance:
            times = item.length // item.distance + 1
            block = DrawnRun(position - item.distance, item.distance, times)
        position += item.length
        long_enough = SHORTEST_AGAIN if block.times == 1 else SHORTEST_LOOP
        if block.end - block.start >= long_enough:
            blocks = [earlier for earlier in blocks if _fits(earlier, block)] + [block]
    return sorted(blocks, key=lambda block: (block.start, -block.end))


def _fits(earlier: DrawnRun, block: DrawnRun) -> bool:
    """Return whether a block ends before a later one, or lies inside its first run."""
    inside = earlier.start >= block.start and earlier.end <= block.start + block.period
    return earlier.end <= block.start or inside


def operator_kind(target: str) -> str:
    """Return how an operator is drawn: "heavy", "light" (it moves no number) or "node"."""
    return "heavy" if _HEAVY.search(target) else "light" if _LIGHT.search(target) else "node"


def short_target(target: str) -> str:
    """Return a target without its module."""
    return _HOME.sub("", target).removesuffix(".default")


def drawing_of(graph: Graph) -> dict[str, Any]:
    """Return the nodes with the distances back to their operands; parameters are only counted."""
    inputs = [entry for entry in graph.inputs if entry.role is Role.INPUT]
    input_index = {entry.name: number for number, entry in enumerate(inputs)}
    node_index = {node.name: number for number, node in enumerate(graph.nodes)}
    targets, specs = _TextTable(), _TextTable()
    edges, reads, weights, kinds, results = [], [], [], [], []
    for number, node in enumerate(graph.nodes):
        names = dict.fromkeys(ref.name for ref in node.refs)
        edges.append([number - node_index[name] for name in names if name in node_index])
        reads.append([input_index[name] for name in names if name in input_index])
        weights.append(len(names) - len(edges[-1]) - len(reads[-1]))
        kinds.append(targets.number(node.target))
        results.append(specs.number(spec_text(node.result)))
    returned = dict.fromkeys(ref.name for ref in refs(graph.output))
    return {
        "targets": targets.texts,
        "names": [short_target(text) for text in targets.texts],
        "kinds": [operator_kind(text) for text in targets.texts],
        "specs": specs.texts,
        "inputs": [[entry.name, spec_text(entry.spec)] for entry in inputs],
        "parameters": graph.parameters,
        "op": kinds,
        "spec": results,
        "from": edges,
        "reads": reads,
        "weights": weights,
        "out": [node_index[name] for name in returned if name in node_index],
        "blocks": [
            [block.start, block.period, block.times]
            for block in blocks_of([node.target for node in graph.nodes])
        ],
    }


class _TextTable:
    """Texts by number, each stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))


def spec_text(result: Result) -> str:
    """Return a dtype with a shape, such as float32[2, 3]."""
    if isinstance(result, TensorSpec):
        return f"{result.dtype}[{', '.join(_dim(dim) for dim in result.shape)}]"
    if isinstance(result, ScalarSpec):
        return result.kind
    return "" if result is None else f"{len(result)} results"


def _dim(dim: Any) -> str:
    return str(dim) if isinstance(dim, int) else str(dim.text)
