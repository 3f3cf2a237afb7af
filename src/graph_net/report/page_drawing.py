"""A graph as what its drawing needs: operators, edges, and the blocks that repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph_net.graph import Graph, Role, ScalarSpec, TensorSpec
from graph_net.graph.repeats import Copy, find_repeats
from graph_net.graph.spec import Result
from graph_net.graph.values import refs

SMALL = 40
"""Graphs with fewer nodes are drawn whole."""
SHORTEST_AGAIN = 8
SHORTEST_LOOP = 6


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """``times`` runs of ``period`` nodes from ``start``; once: a run that occurred before."""

    start: int
    period: int
    times: int

    @property
    def end(self) -> int:
        """The node after it."""
        return self.start + self.period * self.times


def blocks_of(operators: list[str]) -> list[DrawnRun]:
    """The repeated blocks of a list of operators, outer ones before those inside.

    Only operators are compared: a layer that reads the same mask as the one before is the same
    layer, though the mask is further away. Two blocks are apart, or one is inside the other's
    first run.
    """
    if len(operators) < SMALL:
        return []
    held: list[DrawnRun] = []
    place = 0
    for item in find_repeats(operators):
        if not isinstance(item, Copy):
            place += 1
            continue
        block = DrawnRun(place, item.length, 1)
        if item.length >= item.distance:
            times = item.length // item.distance + 1
            block = DrawnRun(place - item.distance, item.distance, times)
        place += item.length
        long_enough = SHORTEST_AGAIN if block.times == 1 else SHORTEST_LOOP
        if block.end - block.start >= long_enough:
            held = [kept for kept in held if _fits(kept, block)] + [block]
    return sorted(held, key=lambda block: (block.start, -block.end))


def _fits(kept: DrawnRun, block: DrawnRun) -> bool:
    """Whether an earlier block ends before a later one, or lies inside its first run."""
    inside = kept.start >= block.start and kept.end <= block.start + block.period
    return kept.end <= block.start or inside


def drawing_of(graph: Graph) -> dict[str, Any]:
    """The nodes with the distances back to what they read; parameters are only counted."""
    inputs = [entry for entry in graph.inputs if entry.role is Role.INPUT]
    given = {entry.name: number for number, entry in enumerate(inputs)}
    place = {node.name: number for number, node in enumerate(graph.nodes)}
    targets, specs = _Numbered(), _Numbered()
    edges, reads, weights, kinds, results = [], [], [], [], []
    for number, node in enumerate(graph.nodes):
        names = dict.fromkeys(ref.name for ref in node.refs)
        edges.append([number - place[name] for name in names if name in place])
        reads.append([given[name] for name in names if name in given])
        weights.append(len(names) - len(edges[-1]) - len(reads[-1]))
        kinds.append(targets.number(node.target))
        results.append(specs.number(_words(node.result)))
    returned = dict.fromkeys(ref.name for ref in refs(graph.output))
    return {
        "targets": targets.texts,
        "specs": specs.texts,
        "inputs": [[entry.name, _words(entry.spec)] for entry in inputs],
        "parameters": graph.parameters,
        "op": kinds,
        "spec": results,
        "from": edges,
        "reads": reads,
        "weights": weights,
        "out": [place[name] for name in returned if name in place],
        "blocks": [
            [block.start, block.period, block.times]
            for block in blocks_of([node.target for node in graph.nodes])
        ],
    }


class _Numbered:
    """Texts by number, each held once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


def _words(result: Result) -> str:
    """A shape and a dtype for people."""
    if isinstance(result, TensorSpec):
        return f"{result.dtype}[{', '.join(_dim(dim) for dim in result.shape)}]"
    if isinstance(result, ScalarSpec):
        return result.kind
    return "" if result is None else f"{len(result)} results"


def _dim(dim: Any) -> str:
    return str(dim) if isinstance(dim, int) else str(dim.text)
